import { createReadStream } from 'node:fs'
import { type FileHandle, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../core/folders.js'
import { digestOfLine, placeOf } from '../../core/receipt-chain.js'
import type { ChainEnd } from '../../core/receipts.js'
import { type Line, linesOf } from './lines.js'
import { type Former, type Part, type Shelf, slotOf } from './shelf.js'

const LINES = /^(\d{4}-\d\d-\d\d)\.([\w-]+)\.jsonl$/
const END = /^([\w-]+)\.end$/
const CONTENT = /^until-(\d{4}-\d\d-\d\d)\.([\w-]+)\.jsonl$/
/** Longest end of a chain, bytes of JSON. */
const END_BYTES = 512
/** What is read of a file's end to find its last line, bytes. */
const TAIL_BYTES = 8 * 1024 * 1024

interface OpenFile {
  readonly path: string
  readonly handle: FileHandle
  readonly inode: number
  /** Bytes of whole lines. */
  size: number
}

/**
 * Receipts in a folder: a file for each day and chain (`2026-11-23.worker1-1a2b3c4d.jsonl`), one that names the last line of each chain
 * (`worker1-1a2b3c4d.end`), and content in files by the day after which they are removed.
 */
export class Folder implements Shelf {
  readonly #path: string
  #file: OpenFile | undefined
  #end: OpenFile | undefined

  constructor(path: string) {
    this.#path = path
  }

  async prepare(): Promise<void> {
    await makeFolder(this.#path, 0o700)
  }

  async former(slot: string): Promise<Former | undefined> {
    const own = (await this.parts()).filter(({ chain }) => slotOf(chain) === slot)
    const changed = await Promise.all(own.map(async part => (await stat(this.#fileOf(part))).mtimeMs))
    const latest = own.map((part, at) => ({ part, at: changed[at] ?? 0 })).toSorted((a, b) => b.at - a.at)
    for (const { part } of latest) {
      const former = await this.#endOf(part)
      if (former !== undefined) return former
    }
    return undefined
  }

  /** The last whole line of a part. */
  async #endOf(part: Part): Promise<Former | undefined> {
    const path = this.#fileOf(part)
    const start = Math.max(0, (await stat(path)).size - TAIL_BYTES)
    let former: Former | undefined
    for await (const { bytes, isWhole } of linesOf(createReadStream(path, { start }))) {
      const place = isWhole ? placeOf(bytes) : undefined
      if (place !== undefined) former = { end: { ...part, seq: place.seq, digest: digestOfLine(bytes) }, torn: 0 }
      else if (former !== undefined && !isWhole) former = { ...former, torn: bytes.length }
    }
    return former
  }

  #fileOf({ day, chain }: Part): string {
    return join(this.#path, `${day}.${chain}.jsonl`)
  }

  async append(part: Part, lines: Uint8Array, end: ChainEnd): Promise<void> {
    if (this.#end !== undefined && (await isGone(this.#end))) this.#end = await left(this.#end)
    // Before the first line, so that a chain without it is known to have lost it.
    if (this.#end === undefined) await this.#mark({ ...end, seq: 0, digest: '' })
    const file = await this.#opened(this.#fileOf(part))
    await this.#write(file, lines)
    await this.#mark(end).catch(() => undefined)
  }

  /** The lines are written: if this fails, the next batch brings it up to date. */
  async #mark(end: ChainEnd): Promise<void> {
    this.#end ??= await opened(join(this.#path, `${end.chain}.end`), 'w')
    // Of one size, so that a shorter one never leaves the rest of a longer one.
    await this.#end.handle.write(`${JSON.stringify(end).padEnd(END_BYTES)}\n`, 0)
  }

  async #opened(path: string): Promise<OpenFile> {
    const before = this.#file
    const isSame = before?.path === path
    if (isSame && !(await isGone(before))) return before
    this.#file = await left(before)
    if (isSame) throw new Error(`${path} was removed or moved away; a new file is begun`)
    this.#file = await opened(path, 'a')
    return this.#file
  }

  /** What a full disk took of it is removed again. */
  async #write(file: OpenFile, bytes: Uint8Array): Promise<void> {
    try {
      for (let at = 0; at < bytes.length; ) at += (await file.handle.write(bytes, at)).bytesWritten
      file.size += bytes.length
    } catch (error) {
      await file.handle.truncate(file.size).catch(() => undefined)
      throw error
    }
  }

  async keepContent(until: string, chain: string, line: string): Promise<void> {
    await writeFile(join(this.#path, `until-${until}.${chain}.jsonl`), line, { flag: 'a', mode: 0o600 })
  }

  async dropContent(today: string): Promise<void> {
    // Where there is no folder, nothing is left.
    const names = await this.#names().catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return []
      throw error
    })
    const over = names.filter(name => (CONTENT.exec(name)?.[1] ?? today) < today)
    const removed = await Promise.allSettled(over.map(name => rm(join(this.#path, name), { force: true })))
    const failed = removed.find(one => one.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  async dropBefore(first: string): Promise<void> {
    const names = await this.#names()
    const isOld = (name: string): boolean => {
      const [, day = first] = LINES.exec(name) ?? []
      return day < first && join(this.#path, name) !== this.#file?.path
    }
    const old = names.filter(isOld)
    const left = new Set(names.filter(name => !isOld(name)).flatMap(name => LINES.exec(name)?.[2] ?? []))
    const gone = new Set(old.flatMap(name => LINES.exec(name)?.[2] ?? []).filter(chain => !left.has(chain)))
    for (const name of [...old, ...[...gone].map(chain => `${chain}.end`)])
      await rm(join(this.#path, name), { force: true })
  }

  async parts(): Promise<readonly Part[]> {
    return (await this.#names()).flatMap(name => {
      const [, day, chain] = LINES.exec(name) ?? []
      return day === undefined || chain === undefined ? [] : [{ day, chain }]
    })
  }

  lines(part: Part): AsyncIterable<Line> {
    return linesOf(createReadStream(this.#fileOf(part)))
  }

  async ends(): Promise<readonly ChainEnd[]> {
    const names = (await this.#names()).filter(name => END.test(name))
    const texts = await Promise.all(names.map(name => readFile(join(this.#path, name), 'utf8')))
    return texts.flatMap((text, at) => {
      const chain = END.exec(names[at] ?? '')?.[1] ?? ''
      const read = endOf(text)
      // What is not one line with an end was not written by a gateway.
      return [read?.chain === chain ? read : { chain, day: '', seq: Number.NaN, digest: '' }]
    })
  }

  contents(until: string, chain: string): AsyncIterable<Line> {
    return linesOf(createReadStream(join(this.#path, `until-${until}.${chain}.jsonl`)))
  }

  async close(): Promise<void> {
    await this.#file?.handle.close()
    await this.#end?.handle.close()
  }

  /** Sorted: the oldest day first. */
  async #names(): Promise<readonly string[]> {
    return (await readdir(this.#path)).toSorted()
  }
}

async function opened(path: string, flag: 'a' | 'w'): Promise<OpenFile> {
  const handle = await open(path, flag, 0o600)
  const { ino: inode, size } = await handle.stat()
  return { path, handle, inode, size }
}

/** Whether it is no longer at its path: what is written to it is lost. */
async function isGone({ path, inode }: OpenFile): Promise<boolean> {
  return await stat(path).then(
    ({ ino }) => ino !== inode,
    () => true,
  )
}

async function left(file: OpenFile | undefined): Promise<undefined> {
  await file?.handle.close().catch(() => undefined)
}

function endOf(text: string): ChainEnd | undefined {
  try {
    return JSON.parse(text) as ChainEnd
  } catch {
    return undefined
  }
}
