#!/usr/bin/env node
// Checks an evidence bundle of Countersign. One file; needs Node 18 or newer and nothing else.
//
//     node verify.mjs BUNDLE.zip [--key KEY]… [--json]
//
// Written apart from verify.py, so that a mistake in one is not a mistake in both. Exit code: 0 good, 1 tampered, 2 usage,
// 3 incomplete.

import { createHash, createPublicKey, verify as verifySignature } from "node:crypto";
import { createReadStream, openSync, readSync, fstatSync } from "node:fs";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { createInflateRaw } from "node:zlib";

const MEMBERS = "actor,at,case,commit,log,policy,prev,seq,task,type,v";
const TEXTS = ["sentence", "refs", "data"];
const base64 = (text) => Buffer.from(text, "base64");

function sha256(...parts) {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(part);
  return digest.digest();
}

/** Just enough of a zip: the central directory, and members as streams. */
class Zip {
  constructor(path) {
    this.path = path;
    this.file = openSync(path, "r");
    const size = fstatSync(this.file).size;
    const tail = this.bytes(Math.max(0, size - 65557), size);
    const end = tail.lastIndexOf(Buffer.from("PK\x05\x06", "latin1"));
    if (end < 0) throw new Error("not a zip");
    let [count, start] = [tail.readUInt16LE(end + 10), tail.readUInt32LE(end + 16)];
    const locator = tail.lastIndexOf(Buffer.from("PK\x06\x07", "latin1"));
    if (locator >= 0) {
      const wide = Number(tail.readBigUInt64LE(locator + 8));
      const record = this.bytes(wide, wide + 56);
      [count, start] = [Number(record.readBigUInt64LE(32)), Number(record.readBigUInt64LE(48))];
    }
    this.members = this.directory(this.bytes(start, size), count);
  }

  directory(bytes, count) {
    const members = new Map();
    for (let at = 0; count > 0; count -= 1) {
      if (bytes.readUInt32LE(at) !== 0x02014b50) throw new Error("not a zip");
      const [named, extra, comment] = [28, 30, 32].map((place) => bytes.readUInt16LE(at + place));
      const name = bytes.toString("utf-8", at + 46, at + 46 + named);
      const fields = bytes.subarray(at + 46 + named, at + 46 + named + extra);
      const member = { method: bytes.readUInt16LE(at + 10), packed: bytes.readUInt32LE(at + 20), start: bytes.readUInt32LE(at + 42) };
      this.widen(member, bytes.readUInt32LE(at + 24), fields);
      if (members.has(name)) throw new Error(`${name} stands twice`);
      members.set(name, member);
      at += 46 + named + extra + comment;
    }
    return members;
  }

  /** Sizes beyond 4 GiB stand in an extra field, in this order, only those that do not fit. */
  widen(member, size, fields) {
    for (let at = 0; at + 4 <= fields.length; at += 4 + fields.readUInt16LE(at + 2)) {
      if (fields.readUInt16LE(at) !== 1) continue;
      let place = at + 4;
      const next = () => Number(fields.readBigUInt64LE((place += 8) - 8));
      if (size === 0xffffffff) next();
      if (member.packed === 0xffffffff) member.packed = next();
      if (member.start === 0xffffffff) member.start = next();
    }
  }

  bytes(from, to) {
    const found = Buffer.alloc(to - from);
    readSync(this.file, found, 0, found.length, from);
    return found;
  }

  stream(name) {
    const member = this.members.get(name);
    if (!member) throw new Error(`${name} is missing`);
    const head = this.bytes(member.start, member.start + 30);
    const start = member.start + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
    const packed = member.packed ? createReadStream(this.path, { start, end: start + member.packed - 1 }) : null;
    const out = member.method === 8 ? createInflateRaw() : new PassThrough();
    if (packed) packed.on("error", (problem) => out.destroy(problem)).pipe(out);
    else out.end();
    return out;
  }

  async text(name) {
    const parts = [];
    for await (const part of this.stream(name)) parts.push(part);
    return Buffer.concat(parts).toString("utf-8");
  }

  async *lines(name) {
    for await (const line of createInterface({ input: this.stream(name), crlfDelay: Infinity })) {
      if (line) yield JSON.parse(line);
    }
  }
}

/** A Merkle tree that grows by leaves and by whole subtrees (RFC 9162). */
class Tree {
  size = 0;
  nodes = [];

  add(digest, height = 0) {
    if (this.size % 2 ** height) throw new Error(`no subtree of height ${height} begins at ${this.size}`);
    this.size += 2 ** height;
    while (this.nodes.length && this.nodes.at(-1)[0] === height) {
      digest = sha256(Buffer.from([1]), this.nodes.pop()[1], digest);
      height += 1;
    }
    this.nodes.push([height, digest]);
  }

  root() {
    return this.nodes.map((node) => node[1]).reduceRight((right, left) => sha256(Buffer.from([1]), left, right));
  }
}

/** JSON with sorted members: the one form of an entry. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`;
}

class Check {
  constructor(zip, keys) {
    Object.assign(this, { zip, given: keys, entries: 0, head: "", findings: [], notes: [], sealed: new Map() });
  }

  tampered(sentence, seq = null, kind = "tampered") {
    this.findings.push({ kind, seq, sentence });
  }

  async everything() {
    this.manifest = JSON.parse(await this.zip.text("manifest.json"));
    if (![1, 2].includes(this.manifest.format)) throw new Error(`format ${this.manifest.format}`);
    this.whole = this.manifest.format === 2;
    const keys = this.given.length || !this.whole ? this.given : (await this.zip.text("log-keys.txt")).split(/\s+/).filter(Boolean);
    this.keys = new Map(keys.map(keyOf));
    if (this.whole && !this.given.length) this.notes.push("The keys came with the bundle: compare log-keys.txt with what the desk publishes.");
    if (this.whole) {
      await this.files();
      await this.signature();
    } else this.tampered("This is of the first format: nothing of it is signed.", null, "incomplete");
    try {
      await this.walk();
      if (this.zip.members.has("sealed.jsonl")) await this.answers();
    } catch (problem) {
      if (!this.findings.length) throw problem;
      this.tampered(`The rest cannot be read: ${problem.message}.`);
    }
    if (this.entries !== this.manifest.entries) this.tampered(`${this.entries} entries are here, of ${this.manifest.entries}.`, null, "incomplete");
    this.notes.push("Entries of other filters are not in this bundle: only what is here was checked.");
    return this.report();
  }

  report() {
    const bad = this.findings.filter((one) => one.kind === "tampered");
    const numbers = bad.map((one) => one.seq).filter((seq) => seq !== null);
    const result = bad.length ? "tampered" : this.findings.length ? "incomplete" : "good";
    const firstBad = numbers.length ? Math.min(...numbers) : null;
    return { result, firstBad, entries: this.entries, head: this.head, findings: this.findings, notes: this.notes };
  }

  async files() {
    const listed = new Map(Object.entries(this.manifest.files));
    for (const name of this.zip.members.keys()) {
      if (!listed.has(name) && !["manifest.json", "manifest.sig"].includes(name)) this.tampered(`${name} is not in the manifest.`);
    }
    for (const [name, digest] of listed) {
      if (!this.zip.members.has(name)) {
        this.tampered(`${name} is missing.`, null, "incomplete");
        continue;
      }
      const found = createHash("sha256");
      for await (const part of this.zip.stream(name)) found.update(part);
      if (found.digest("hex") !== digest) this.tampered(`${name} is not the file that the manifest names.`);
    }
  }

  async signature() {
    const [id, signature] = (await this.zip.text("manifest.sig")).trim().split(" ");
    const signed = Buffer.concat([Buffer.from("countersign/bundle/v2\n"), Buffer.from(await this.zip.text("manifest.json"))]);
    const key = this.keys.get(base64(id).toString("hex"));
    if (!key || !verifySignature(null, signed, key, base64(signature ?? ""))) this.tampered("The manifest bears no signature of the log's key.");
  }

  async roots() {
    const found = new Map();
    for (const name of [...this.zip.members.keys()].filter((name) => name.startsWith("checkpoints/"))) {
      const [body, lines] = (await this.zip.text(name)).split(/\n\n(.*)/s);
      const [log, size, root] = body.split("\n");
      const good = (lines ?? "").split("\n").filter(Boolean).some((line) => {
        const signature = base64(line.split(" ").at(-1));
        const key = this.keys.get(signature.subarray(0, 4).toString("hex"));
        return key && verifySignature(null, Buffer.from(`${body}\n`), key, signature.subarray(4));
      });
      if (!good || log !== this.manifest.log) this.tampered(`${name} bears no signature of the log's key.`);
      found.set(Number(size), base64(root));
    }
    return found;
  }

  async walk() {
    const roots = await this.roots();
    if (this.whole && !roots.size) {
      this.notes.push("The bundle holds no checkpoint: nothing proves that its entries are of the log.");
      this.whole = false;
    }
    const tree = new Tree();
    const gaps = this.whole ? this.zip.lines("tree.jsonl") : [].values();
    let gap = (await gaps.next()).value;
    const compare = () => {
      const root = roots.get(tree.size);
      roots.delete(tree.size);
      if (root && !root.equals(tree.root())) this.tampered(`The entries do not make the root that checkpoint ${tree.size} signed.`);
    };
    const fill = async (until) => {
      while (this.whole && gap && gap.from === tree.size + 1 && gap.to < until) {
        for (const [height, digest] of gap.nodes) tree.add(Buffer.from(digest, "hex"), height);
        if (tree.size !== gap.to) this.tampered(`The subtrees for entries ${gap.from} to ${gap.to} are others.`);
        compare();
        gap = (await gaps.next()).value;
      }
    };
    let [before, leaf] = [0, "0".repeat(64)];
    for await (const entry of this.zip.lines("entries.jsonl")) {
      await fill(entry.seq);
      if (this.whole && tree.size !== entry.seq - 1) {
        this.tampered(`Entry ${tree.size + 1} is missing.`, Math.min(tree.size + 1, entry.seq));
        this.whole = false;
      } else if (entry.seq <= before) this.tampered(`Entry ${entry.seq} is out of order.`, entry.seq);
      const body = base64(entry.body);
      this.entry(entry, body, entry.seq === before + 1 ? leaf : null);
      const digest = sha256(Buffer.from([0]), body);
      [before, leaf] = [entry.seq, digest.toString("hex")];
      if (!this.whole) continue;
      tree.add(digest);
      compare();
    }
    await fill(Infinity);
    if (this.whole && roots.size) this.tampered(`Entries after ${tree.size}, up to ${Math.max(...roots.keys())}, are missing.`, tree.size + 1);
  }

  entry(entry, body, prev) {
    this.entries += 1;
    this.head = entry.leafHash;
    const { seq } = entry;
    if (sha256(Buffer.from([0]), body).toString("hex") !== entry.leafHash) this.tampered(`The body of entry ${seq} does not have its hash.`, seq);
    let said = null;
    try {
      said = JSON.parse(body.toString("utf-8"));
    } catch {
      said = null;
    }
    const one = said !== null && typeof said === "object" && Object.keys(said).sort().join() === MEMBERS && said.v === 1;
    if (!one || !Buffer.from(canonical(said)).equals(body)) {
      this.tampered(`Entry ${seq} is not an entry in its one form.`, seq);
      return;
    }
    if (said.seq !== seq || said.log !== this.manifest.log) this.tampered(`Entry ${seq} is another entry, or of another log.`, seq);
    if (prev !== null && said.prev !== prev) this.tampered(`Entry ${seq} does not follow the entry before it.`, seq);
    for (const name of TEXTS) {
      const [text, salt] = [entry[name], entry[`${name}Salt`]];
      if (text === null && salt === null) continue; // erased: the place stays
      const start = Buffer.from(`countersign/commit/v1\0${name}\0`);
      const fits = text !== null && salt !== null && sha256(start, base64(salt), base64(text)).toString("hex") === said.commit?.[name];
      if (!fits) this.tampered(`The ${name} of entry ${seq} is not what was committed to.`, seq);
    }
    if (said.type === "resume.sealed" && entry.data !== null) {
      const data = JSON.parse(base64(entry.data).toString("utf-8"));
      this.sealed.set(`${said.case} ${data.n}`, [seq, data.sha256, data.signature ?? ""]);
    }
  }

  async answers() {
    for await (const line of this.zip.lines("sealed.jsonl")) {
      const told = this.sealed.get(`${line.case} ${line.n}`);
      this.sealed.delete(`${line.case} ${line.n}`);
      const content = sha256(base64(line.entries), base64(line.props), base64(line.messages)).toString("hex");
      const signature = line.signature && sha256(Buffer.from(line.signature)).toString("hex");
      if (line.erased) continue;
      if (!told) this.tampered(`Answers of ${line.case} are sealed, and no entry here tells of them.`);
      else if (content !== told[1] || signature !== told[2]) this.tampered(`The answers of ${line.case} are not those that entry ${told[0]} sealed.`, told[0]);
    }
    for (const [place, told] of this.sealed) this.tampered(`The answers of ${place} that entry ${told[0]} sealed are missing.`, told[0]);
  }
}

/** `name+id+base64(type || key)` as witnesses write it; the id is computed anew. */
function keyOf(text) {
  const [name, , ...rest] = text.split("+");
  const raw = base64(rest.join("+"));
  const x = raw.subarray(1).toString("base64url");
  return [sha256(Buffer.from(`${name}\n`), raw).subarray(0, 4).toString("hex"), createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" })];
}

async function main(words) {
  const keys = words.filter((_, place) => words[place - 1] === "--key");
  const files = words.filter((word, place) => !word.startsWith("--") && words[place - 1] !== "--key");
  if (files.length !== 1) {
    console.error("usage: node verify.mjs BUNDLE.zip [--key KEY]… [--json]");
    return 2;
  }
  let report;
  try {
    report = await new Check(new Zip(files[0]), keys).everything();
  } catch (problem) {
    console.error(`${files[0]}: this is not an evidence bundle (${problem.message})`);
    return 2;
  }
  const lines = [`${report.result}: ${report.entries} entries, first bad ${report.firstBad ?? "none"}, head ${report.head}`];
  lines.push(...report.findings.map((one) => `- ${one.kind}: ${one.sentence}`), ...report.notes.map((note) => `note: ${note}`));
  console.log(words.includes("--json") ? JSON.stringify(report, null, 2) : lines.join("\n"));
  return { good: 0, tampered: 1, incomplete: 3 }[report.result];
}

process.exitCode = await main(process.argv.slice(2));
