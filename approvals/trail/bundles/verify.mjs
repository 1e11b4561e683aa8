#!/usr/bin/env node
// Checks an evidence bundle of Countersign. One file; needs Node 18 or newer and nothing else.
//
//     node verify.mjs BUNDLE.zip [--key KEY]… [--json]
//
// Written apart from verify.py, so that a mistake in one is not a mistake in both; what they say is the same to the byte.
// Exit code: 0 good, 1 tampered, 2 usage, 3 incomplete.

import { createHash, createPublicKey, verify as verifySignature } from "node:crypto";
import { createReadStream, fstatSync, openSync, readSync } from "node:fs";
import { PassThrough } from "node:stream";
import { createInflateRaw } from "node:zlib";

const MEMBERS = "actor,at,case,commit,log,policy,prev,seq,task,type,v".split(",");
const TEXTS = ["sentence", "refs", "data"];
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/; // nothing that leads out of a folder
const DIGEST = /^[0-9a-f]{64}$/;
const NOTE = /^(([^\n]+)\n([1-9][0-9]{0,14})\n([A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*)\n((?:— [^ \n]+ [A-Za-z0-9+/=]+\n)+)$/;
const HIGHEST = 52; // of subtrees
const DEEPEST = 900; // of JSON

/** A part that cannot be read; the words name it. */
class Unreadable extends Error {}

function sha256(...parts) {
  const digest = createHash("sha256");
  for (const part of parts) digest.update(part);
  return digest.digest();
}

const CRC = Uint32Array.from({ length: 256 }, (_, start) => {
  let rest = start;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest;
});

/** Just enough of a zip: the central directory, and members as streams. Refuses what two programs could read differently. */
class Zip {
  constructor(path) {
    this.path = path;
    try {
      this.file = openSync(path, "r");
      this.members = this.directory();
    } catch (problem) {
      throw problem instanceof Unreadable ? problem : new Unreadable("it cannot be opened as a zip file");
    }
    const members = [...this.members.values()];
    if (Math.min(...members.map((member) => member.start), members.length ? Infinity : 1)) throw new Unreadable("there is more in it than its files");
    for (const [name, member] of this.members) {
      if (!NAME.test(name) || ![0, 8].includes(member.kind)) throw new Unreadable("something in it is no plain file");
    }
  }

  directory() {
    const size = fstatSync(this.file).size;
    const tail = this.bytes(Math.max(0, size - 65557), size);
    const at = tail.lastIndexOf("PK\x05\x06", "latin1");
    const end = tail.subarray(at);
    if (at < 0 || end.length < 22 || tail.length - at !== 22 + end.readUInt16LE(20)) throw new Error("not a zip");
    let edge = size - end.length;
    let [count, length, start] = [end.readUInt16LE(10), end.readUInt32LE(12), end.readUInt32LE(16)];
    if (at >= 20 && tail.readUInt32LE(at - 20) === 0x07064b50) {
      const wide = Number(tail.readBigUInt64LE(at - 12));
      const record = this.bytes(wide, wide + 56);
      if (record.readUInt32LE(0) !== 0x06064b50) throw new Error("not a zip");
      [count, length, start] = [32, 40, 48].map((place) => Number(record.readBigUInt64LE(place)));
      edge = wide;
    }
    const bytes = this.bytes(edge - length, edge);
    if (count && bytes.readUInt32LE(0) !== 0x02014b50) throw new Error("not a zip");
    if (start + length !== edge || end.length > 22) throw new Unreadable("there is more in it than its files");
    return this.listed(bytes, count);
  }

  listed(bytes, count) {
    const members = new Map();
    let [at, twice] = [0, false];
    for (; count > 0; count -= 1) {
      if (bytes.readUInt32LE(at) !== 0x02014b50 || bytes[at + 6] > 63) throw new Error("not a zip");
      const [named, extra, comment] = [28, 30, 32].map((place) => bytes.readUInt16LE(at + place));
      const name = bytes.toString("utf-8", at + 46, at + 46 + named);
      const member = {
        flags: bytes.readUInt16LE(at + 8), method: bytes.readUInt16LE(at + 10), crc: bytes.readUInt32LE(at + 16),
        packed: bytes.readUInt32LE(at + 20), size: bytes.readUInt32LE(at + 24), kind: bytes.readUInt32LE(at + 38) >>> 28,
        start: bytes.readUInt32LE(at + 42), name,
      };
      this.widen(member, bytes.subarray(at + 46 + named, at + 46 + named + extra));
      twice ||= members.has(name);
      members.set(name, member);
      at += 46 + named + extra + comment;
    }
    if (at !== bytes.length) throw new Error("not a zip");
    if (twice) throw new Unreadable("a file is there twice");
    return members;
  }

  /** Sizes beyond 4 GiB stand in an extra field, in this order, only those that do not fit. */
  widen(member, fields) {
    for (let at = 0; at + 4 <= fields.length; at += 4 + fields.readUInt16LE(at + 2)) {
      if (fields.readUInt16LE(at) !== 1) continue;
      let place = at + 4;
      for (const wide of ["size", "packed", "start"]) {
        if (member[wide] === 0xffffffff) member[wide] = Number(fields.readBigUInt64LE((place += 8) - 8));
      }
    }
  }

  bytes(from, to) {
    const found = Buffer.alloc(to - from);
    if (readSync(this.file, found, 0, found.length, from) < found.length) throw new Error("it ends too early");
    return found;
  }

  async *pieces(name) {
    const member = this.members.get(name);
    if (!member) throw new Unreadable(`${name} is missing`);
    try {
      let [crc, size] = [0xffffffff, 0];
      for await (const piece of this.unpacked(member)) {
        for (const byte of piece) crc = CRC[(crc ^ byte) & 0xff] ^ (crc >>> 8);
        size += piece.length;
        yield piece;
      }
      if ((crc ^ 0xffffffff) >>> 0 !== member.crc || size !== member.size) throw new Error("damaged");
    } catch {
      throw new Unreadable(`${name} cannot be read`);
    }
  }

  unpacked(member) {
    const head = this.bytes(member.start, member.start + 30);
    const start = member.start + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
    const name = this.bytes(member.start + 30, member.start + 30 + head.readUInt16LE(26)).toString("utf-8");
    const is = head.readUInt32LE(0) === 0x04034b50 && name === member.name && !(member.flags & 0x61);
    if (!is || ![0, 8].includes(member.method)) throw new Error("not a file that we can unpack");
    const out = member.method === 8 ? createInflateRaw() : new PassThrough();
    if (!member.packed) return out.end() && out;
    return createReadStream(this.path, { start, end: start + member.packed - 1 }).on("error", (problem) => out.destroy(problem)).pipe(out);
  }

  async bytesOf(name) {
    const pieces = [];
    for await (const piece of this.pieces(name)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  async read(name, how) {
    const content = await this.bytesOf(name);
    try {
      return how(content);
    } catch {
      throw new Unreadable(`${name} cannot be read`);
    }
  }

  async *lines(name, how) {
    let here = 0;
    try {
      for await (const line of broken(this.pieces(name))) {
        here += 1;
        yield how(parsed(line));
      }
    } catch {
      throw new Unreadable(`line ${here} of ${name} cannot be read`);
    }
  }
}

async function* broken(pieces) {
  let rest = [];
  for await (const piece of pieces) {
    let from = 0;
    for (let to = piece.indexOf(10); to >= 0; to = piece.indexOf(10, from)) {
      yield Buffer.concat([...rest, piece.subarray(from, to)]);
      [rest, from] = [[], to + 1];
    }
    if (from < piece.length) rest.push(piece.subarray(from));
  }
  if (rest.length) yield Buffer.concat(rest);
}

const strictly = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function must(holds) {
  if (!holds) throw new Error("not as it must be");
}

/** JSON that all readers read alike: no member twice, none with a name that is never used here, not too deep. */
function parsed(bytes) {
  const text = strictly.decode(bytes);
  const said = JSON.parse(text);
  const open = [];
  for (const [token, member] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g)) {
    if (token === "{" || token === "[") must(open.push(new Set()) <= DEEPEST);
    else if (token === "}" || token === "]") open.pop();
    else if (member) {
      const name = JSON.parse(token.slice(0, -member.length));
      must(/^[\0-\x7f]*$/.test(name) && !open.at(-1).has(name));
      open.at(-1).add(name);
    }
  }
  return said;
}

function whole(number) {
  must(Number.isSafeInteger(number) && number >= 0);
  return number;
}

function matching(pattern, text) {
  must(typeof text === "string" && pattern.test(text));
  return text;
}

/** What is written in base64, in its one spelling. */
function rawOf(text) {
  const content = Buffer.from(text, "base64");
  must(typeof text === "string" && content.toString("base64") === text);
  return content;
}

/** `name+id+base64(type || key)` as witnesses write it; the only type is Ed25519. */
function keyOf(text) {
  const [name, told, ...rest] = text.split("+");
  const raw = rawOf(rest.join("+"));
  const named = sha256(Buffer.from(`${name}\n`), raw).toString("hex", 0, 4);
  must(raw.length === 33 && raw[0] === 1 && named === told);
  const jwk = { kty: "OKP", crv: "Ed25519", x: raw.subarray(1).toString("base64url") };
  return [named, createPublicKey({ key: jwk, format: "jwk" })];
}

function keysOf(content) {
  return new Map(strictly.decode(content).split("\n").filter(Boolean).map(keyOf));
}

function manifestOf(content) {
  const said = parsed(content);
  const listed = said.files ?? {};
  must([1, 2].includes(said.format) && typeof said.log === "string" && typeof listed === "object" && !Array.isArray(listed));
  const files = new Map(Object.entries(listed).map(([name, digest]) => [matching(NAME, name), matching(DIGEST, digest)]));
  return { format: said.format, log: said.log, entries: whole(said.entries), files };
}

function signatureOf(content) {
  const parts = strictly.decode(content).replace(/\n$/, "").split(" ");
  must(parts.length === 2);
  return Buffer.concat(parts.map(rawOf));
}

function noteOf(content) {
  const [, body, log, size, root, lines] = NOTE.exec(strictly.decode(content));
  const signatures = lines.trimEnd().split("\n").map((line) => rawOf(line.split(" ").at(-1)));
  return { body: Buffer.from(body), signatures, log, size: Number(size), root: rawOf(root) };
}

function gapOf(line) {
  const nodes = line.nodes.map(([height, digest]) => [whole(height), Buffer.from(matching(DIGEST, digest), "hex")]);
  must(nodes.every(([height]) => height <= HIGHEST));
  return { from: whole(line.from), to: whole(line.to), nodes };
}

function entryOf(line) {
  const entry = { seq: whole(line.seq), body: rawOf(line.body), leafHash: matching(DIGEST, line.leafHash) };
  for (const name of TEXTS.flatMap((text) => [text, `${text}Salt`])) {
    must(name in line);
    entry[name] = line[name] === null ? null : rawOf(line[name]);
  }
  return entry;
}

function sealedOf(line) {
  const content = sha256(...["entries", "props", "messages"].map((name) => rawOf(line[name]))).toString("hex");
  must(typeof line.signature === "string" && !/\p{Surrogate}/u.test(line.signature));
  const signature = line.signature && sha256(Buffer.from(line.signature)).toString("hex");
  return { case: matching(NAME, line.case), n: whole(line.n), erased: line.erased === true, content, signature };
}

/** JSON with sorted members, whole numbers alone. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value === "number") must(Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0));
  if (typeof value === "string") must(!/\p{Surrogate}/u.test(value));
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`;
}

/** What a body says, if it is in the only form that an entry has (RFC 8785); else null. */
function inOneForm(body) {
  try {
    const said = parsed(body);
    const names = Object.keys(said).sort();
    const one = names.length === MEMBERS.length && names.every((name, place) => name === MEMBERS[place]) && said.v === 1;
    const commits = said.commit !== null && typeof said.commit === "object" && !Array.isArray(said.commit);
    return one && commits && typeof said.seq === "number" && Buffer.from(canonical(said)).equals(body) ? said : null;
  } catch {
    return null;
  }
}

/** A Merkle tree that grows by leaves and by whole subtrees (RFC 9162). */
class Tree {
  size = 0;
  nodes = [];

  /** False where no subtree of this height begins. */
  add(digest, height = 0) {
    if (this.size % 2 ** height) return false;
    this.size += 2 ** height;
    while (this.nodes.length && this.nodes.at(-1)[0] === height) {
      digest = sha256(Buffer.from([1]), this.nodes.pop()[1], digest);
      height += 1;
    }
    this.nodes.push([height, digest]);
    return true;
  }

  root() {
    return this.nodes.map((node) => node[1]).reduceRight((right, left) => sha256(Buffer.from([1]), left, right));
  }
}

function signed(body, signatures, keys) {
  return signatures.some((one) => {
    const key = keys.get(one.toString("hex", 0, 4));
    return key && verifySignature(null, body, key, one.subarray(4));
  });
}

class Check {
  constructor(zip, given) {
    Object.assign(this, { zip, keys: given, cameAlong: given, entries: 0, head: "", findings: [], notes: [], sealed: new Map(), gaps: false });
  }

  tampered(sentence, seq = null, kind = "tampered") {
    this.findings.push({ kind, seq, sentence });
  }

  async everything() {
    this.manifest = await this.zip.read("manifest.json", manifestOf);
    this.whole = this.manifest.format === 2;
    let roots = new Map();
    if (this.whole) {
      await this.files();
      roots = await this.signatures();
    } else this.tampered("This is of the first format: nothing of it is signed.", null, "incomplete");
    try {
      if (this.zip.members.has("entries.jsonl")) await this.walk(roots);
      if (this.zip.members.has("sealed.jsonl")) await this.answers();
    } catch (problem) {
      if (!(problem instanceof Unreadable)) throw problem;
      this.tampered(`The rest was not checked: ${problem.message}.`);
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
    const [{ members }, listed] = [this.zip, this.manifest.files];
    for (const name of [...members.keys()].sort()) {
      if (listed.has(name) || name === "manifest.json" || name === "manifest.sig") continue;
      this.tampered(`${name} is not in the manifest.`);
      members.delete(name);
    }
    for (const name of [...new Set([...listed.keys(), "entries.jsonl", "log-keys.txt", "tree.jsonl"])].sort()) {
      if (members.has(name)) await this.file(name, listed.get(name));
      else this.tampered(`${name} is missing.`, null, "incomplete");
    }
  }

  async file(name, digest) {
    const found = createHash("sha256");
    try {
      for await (const piece of this.zip.pieces(name)) found.update(piece);
      if (found.digest("hex") !== digest) this.tampered(`${name} is not the file that the manifest names.`);
    } catch (problem) {
      this.tampered(`${problem.message}.`);
      this.zip.members.delete(name);
    }
  }

  async signatures() {
    this.cameAlong = (await this.part("log-keys.txt", keysOf)) ?? new Map();
    if (!this.keys.size) {
      this.keys = this.cameAlong;
      this.notes.push("The keys came with the bundle: compare log-keys.txt with what the desk publishes.");
    }
    const roots = new Map();
    for (const name of [...this.zip.members.keys()].filter((name) => name.startsWith("checkpoints/")).sort()) {
      const note = await this.part(name, noteOf);
      if (!note) continue;
      const believed = signed(note.body, note.signatures, this.keys);
      if (!believed && signed(note.body, note.signatures, this.cameAlong)) {
        this.notes.push(`${name} is signed by a key that was not given: it was not compared.`);
        continue;
      }
      if (!believed || note.log !== this.manifest.log) this.tampered(`${name} bears no signature of the log's key.`);
      if (!roots.has(note.size)) roots.set(note.size, note.root);
      else if (!roots.get(note.size).equals(note.root)) this.tampered(`Two checkpoints of ${note.size} entries tell of different entries.`);
    }
    await this.manifestSigned(roots.size > 0);
    if (!roots.size) {
      this.notes.push("The bundle holds no checkpoint: nothing proves that its entries are of the log.");
      this.whole = false;
    }
    return roots;
  }

  async manifestSigned(isKnown) {
    const said = Buffer.concat([Buffer.from("countersign/bundle/v2\n"), await this.zip.bytesOf("manifest.json")]);
    const signature = (await this.part("manifest.sig", signatureOf)) ?? Buffer.alloc(0);
    if (isKnown && signed(said, [signature], this.cameAlong) && !this.keys.has(signature.toString("hex", 0, 4))) {
      this.tampered("The manifest is signed by a key that was not given.", null, "incomplete");
    } else if (!signed(said, [signature], this.keys)) this.tampered("The manifest bears no signature of the log's key.");
  }

  async part(name, how) {
    try {
      return await this.zip.read(name, how);
    } catch (problem) {
      if (this.zip.members.has(name)) this.tampered(`${problem.message}.`);
      return null;
    }
  }

  async walk(roots) {
    this.whole &&= this.zip.members.has("tree.jsonl");
    const tree = new Tree();
    const gaps = this.whole ? this.zip.lines("tree.jsonl", gapOf) : [].values();
    let gap = (await gaps.next()).value;
    const compare = () => {
      const root = roots.get(tree.size);
      roots.delete(tree.size);
      if (root && !root.equals(tree.root())) this.tampered(`The entries do not make the root that checkpoint ${tree.size} signed.`);
    };
    const fill = async (until) => {
      while (this.whole && gap && gap.from === tree.size + 1 && gap.to < until) {
        this.gaps = true;
        const fits = gap.nodes.map(([height, digest]) => tree.add(digest, height)).every(Boolean);
        if (!fits || tree.size !== gap.to) this.tampered(`The subtrees for entries ${gap.from} to ${gap.to} are others.`);
        compare();
        gap = (await gaps.next()).value;
      }
    };
    let [before, leaf] = [0, "0".repeat(64)];
    for await (const entry of this.zip.lines("entries.jsonl", entryOf)) {
      await fill(entry.seq);
      if (this.whole && tree.size !== entry.seq - 1) {
        this.tampered(`Entry ${tree.size + 1} is missing.`, Math.min(tree.size + 1, entry.seq));
        this.whole = false;
      } else if (entry.seq <= before) this.tampered(`Entry ${entry.seq} is out of order.`, entry.seq);
      this.gaps ||= entry.seq !== before + 1;
      this.entry(entry, entry.seq === before + 1 ? leaf : null);
      const digest = sha256(Buffer.from([0]), entry.body);
      [before, leaf] = [entry.seq, digest.toString("hex")];
      if (!this.whole) continue;
      tree.add(digest);
      compare();
    }
    await fill(Infinity);
    if (this.whole && roots.size) this.tampered(`Entries after ${tree.size}, up to ${Math.max(...roots.keys())}, are missing.`, tree.size + 1);
  }

  entry(entry, prev) {
    this.entries += 1;
    this.head = entry.leafHash;
    const { seq } = entry;
    if (sha256(Buffer.from([0]), entry.body).toString("hex") !== entry.leafHash) this.tampered(`The body of entry ${seq} does not have its hash.`, seq);
    const said = inOneForm(entry.body);
    if (said === null) {
      this.tampered(`Entry ${seq} is not an entry in its one form.`, seq);
      return;
    }
    if (said.seq !== seq || said.log !== this.manifest.log) this.tampered(`Entry ${seq} is another entry, or of another log.`, seq);
    if (prev !== null && said.prev !== prev) this.tampered(`Entry ${seq} does not follow the entry before it.`, seq);
    for (const name of TEXTS) {
      const [text, salt] = [entry[name], entry[`${name}Salt`]];
      if (text === null && salt === null) continue; // erased: the place stays
      const start = Buffer.from(`countersign/commit/v1\0${name}\0`);
      const fits = text !== null && salt !== null && sha256(start, salt, text).toString("hex") === said.commit[name];
      if (!fits) this.tampered(`The ${name} of entry ${seq} is not what was committed to.`, seq);
    }
    if (said.type === "resume.sealed" && entry.data !== null) this.seal(seq, said.case, entry.data);
  }

  seal(seq, code, data) {
    try {
      const told = parsed(data);
      this.sealed.set(`${matching(NAME, code)} ${whole(told.n)}`, [seq, matching(DIGEST, told.sha256), told.signature || ""]);
    } catch {
      this.tampered(`Entry ${seq} does not tell what was sealed.`, seq);
    }
  }

  async answers() {
    let alone = 0;
    for await (const line of this.zip.lines("sealed.jsonl", sealedOf)) {
      const place = `${line.case} ${line.n}`;
      const told = this.sealed.get(place);
      this.sealed.delete(place);
      if (line.erased) continue;
      if (!told && this.gaps) alone += 1;
      else if (!told) this.tampered(`Answers of ${line.case} are sealed, and no entry here tells of them.`);
      else if (line.content !== told[1] || line.signature !== told[2]) this.tampered(`The answers of ${line.case} are not those that entry ${told[0]} sealed.`, told[0]);
    }
    if (alone) this.notes.push(`Sealed answers whose entry is not here: ${alone}. The signed manifest vouches for them.`);
    for (const [place, told] of this.sealed) this.tampered(`The answers of ${place.split(" ")[0]} that entry ${told[0]} sealed are missing.`, told[0]);
  }
}

function given(words) {
  try {
    return new Map(words.filter((_, place) => words[place - 1] === "--key").map(keyOf));
  } catch {
    throw new Error("what was given as a key is none");
  }
}

async function main(words) {
  const files = words.filter((word, place) => !word.startsWith("--") && words[place - 1] !== "--key");
  if (files.length !== 1) {
    console.error("usage: node verify.mjs BUNDLE.zip [--key KEY]… [--json]");
    return 2;
  }
  let report;
  try {
    const keys = given(words);
    report = await new Check(new Zip(files[0]), keys).everything();
  } catch (problem) {
    console.error(`${files[0]}: ${problem instanceof Unreadable ? `this is not an evidence bundle (${problem.message})` : problem.message}`);
    return 2;
  }
  const lines = [`${report.result}: ${report.entries} entries, first bad ${report.firstBad ?? "none"}, head ${report.head}`];
  lines.push(...report.findings.map((one) => `- ${one.kind}: ${one.sentence}`), ...report.notes.map((note) => `note: ${note}`));
  console.log(words.includes("--json") ? JSON.stringify(report, null, 2) : lines.join("\n"));
  return { good: 0, tampered: 1, incomplete: 3 }[report.result];
}

process.exitCode = await main(process.argv.slice(2));
