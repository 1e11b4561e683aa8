// Checks signed decisions inside an agent; Node's own crypto is all it needs. Copy it and keep it (signature.md).

import { createHash, createPublicKey, verify as verifySignature } from "node:crypto";

/** The statements of a whole resume; an Error: run nothing, and answer RUN_ERROR APPROVAL_SIGNATURE_INVALID. */
export function verify(resume, { asked, jwks, issuer, audience, now }) {
  const said = resume.map((entry) => statement(entry, asked, jwks));
  const opened = JSON.stringify(asked.map((one) => one.interruptId).sort());
  for (const one of said) {
    need(one.iss === issuer && one.aud === audience && typeof one.jti === "string", "not for us");
    need([one.iat, one.nbf, one.exp].every(Number.isInteger), "times");
    need(one.nbf - 60 <= now && now < one.exp + 60, "too early or too late");
    need(JSON.stringify([...one.batch].sort()) === opened, "other interrupts");
  }
  need(JSON.stringify(said.map((one) => one.interruptId).sort()) === opened, "not every answer");
  return said;
}

function statement(entry, asked, jwks) {
  const token = entry.metadata?.countersign?.jws;
  const parts = typeof token === "string" ? token.split(".") : [];
  need(parts.length === 3, "not signed");
  const [header, said] = parts.slice(0, 2).map((part) => read(decode(part)));
  need(Object.keys(header).sort().join() === "alg,kid,typ" && header.typ === "countersign+jws", "header");
  const key = jwks.keys.find((one) => one.kid === header.kid);
  need(key && key.crv === "Ed25519" && header.alg === key.alg && ["Ed25519", "EdDSA"].includes(key.alg), "key");
  const signer = createPublicKey({ key: { kty: key.kty, crv: key.crv, x: key.x }, format: "jwk" });
  need(verifySignature(null, Buffer.from(`${parts[0]}.${parts[1]}`), signer, decode(parts[2])), "signature");
  need(said.v === "countersign/1" && Array.isArray(said.batch), "statement");
  const one = asked.find((own) => own.interruptId === said.interruptId);
  need(one && said.threadId === one.threadId && said.sourceRunId === one.runId, "not open");
  for (const [name, ours] of [["interruptDigest", one.interrupt], ["proposalDigest", one.proposal]]) {
    need(ours == null || said[name] === digest(ours), name);
  }
  need(entry.interruptId === said.interruptId && entry.status === said.status, "other entry");
  const written = "payload" in entry ? text(entry.payload) : undefined;
  const fits = "payload" in said
    ? !("payloadDigest" in said) && written === text(said.payload)
    : said.payloadDigest === (written === undefined ? undefined : digest(written));
  need(fits && said.status === (written === undefined ? "cancelled" : "resolved"), "payload");
  return said; // act on said.payload, or on entry.payload where only its digest was signed
}

/** JSON with sorted members, as everybody writes it. */
function text(value) {
  if (Array.isArray(value)) return `[${value.map(text).join()}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${text(value[name])}`).join()}}`;
}

/** JSON in which no member stands twice: JSON.parse would keep the last and say nothing. */
function read(bytes) {
  const source = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  const open = [];
  for (const [token, name, colon] of source.matchAll(/("(?:[^"\\]|\\.)*")\s*(:?)|[{}]/g)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (colon) need(open.at(-1) && !open.at(-1).has(JSON.parse(name)) && open.at(-1).add(JSON.parse(name)), "twice");
  }
  const value = JSON.parse(source);
  need(value !== null && typeof value === "object", "not an object");
  return value;
}

function decode(part) {
  const bytes = Buffer.from(part, "base64url");
  need(bytes.toString("base64url") === part, "not base64url");
  return bytes;
}

const digest = (content) => `sha-256:${createHash("sha256").update(content).digest("hex")}`;

function need(holds, why) {
  if (!holds) throw new Error(why);
}
