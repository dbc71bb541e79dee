import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs'
import { isAddress } from '../core/config-place.js'

/** What reading a file gave. `missing` is told apart because much of what a configuration names may be missing. */
type FileResult =
  | { readonly bytes: Buffer }
  | { readonly failure: 'missing' | 'too-large' | 'unreadable'; readonly reason: string }

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EISDIR: 'it is a folder',
  ELOOP: 'its symbolic links run in a circle',
}

/** A file of a configuration as it was read. */
export interface SourceFile {
  /** Absolute, or an address. */
  readonly path: string
  readonly bytes: Uint8Array
}

/** Most bytes of a configuration that are kept beyond its load. */
export const MAX_KEPT_BYTES = 8 * 1024 * 1024

/** Reads files for one load and remembers each of them, found or not: those are what a watcher must follow. */
export class Files {
  readonly #digests = new Map<string, string>()
  readonly #given: ReadonlyMap<string, Buffer>
  readonly #kept = new Map<string, SourceFile>()
  #keptBytes = 0

  /** `given` are files that exist in memory alone. */
  constructor(given: readonly SourceFile[] = []) {
    this.#given = new Map(
      given.map(({ path, bytes }) => [path, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)]),
    )
  }

  /** Those that were read to be kept, in that order; undefined: they are too large. */
  get kept(): readonly SourceFile[] | undefined {
    return this.#keptBytes > MAX_KEPT_BYTES ? undefined : [...this.#kept.values()]
  }

  /** Absolute paths of all files that were asked for. */
  get paths(): readonly string[] {
    return [...this.#digests.keys()].filter(path => !isAddress(path)).sort()
  }

  /** Path and content digest of each file; a missing one has an empty digest. */
  get digests(): readonly (readonly [string, string])[] {
    return [...this.#digests].sort(([a], [b]) => (a < b ? -1 : 1))
  }

  /** sha256 in hex of a file that was read; empty where it could not be. */
  digestOf(path: string): string {
    return this.#digests.get(path) ?? ''
  }

  /** What is at a path, without reading it. */
  kindOf(path: string): 'file' | 'folder' | 'nothing' {
    if (!this.#digests.has(path)) this.#digests.set(path, '')
    const state = statSync(path, { throwIfNoEntry: false })
    if (state === undefined) return 'nothing'
    return state.isDirectory() ? 'folder' : 'file'
  }

  /** Whether the source is a folder of files: that itself is nothing to be read. */
  isFolder(path: string): boolean {
    return !this.#given.has(path) && (statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false)
  }

  /** Reads a regular file of at most `limit` bytes. `isKept`: it is a file of the configuration, and not one that it names. */
  read(path: string, limit: number, isKept = false): FileResult {
    this.#digests.set(path, '')
    const given = this.#given.get(path)
    const result = given === undefined ? readBounded(path, limit) : bounded(given, limit)
    if ('bytes' in result) this.#digests.set(path, createHash('sha256').update(result.bytes).digest('hex'))
    if (isKept && 'bytes' in result) this.#keep({ path, bytes: result.bytes })
    return result
  }

  #keep(file: SourceFile): void {
    this.#keptBytes += file.bytes.length
    if (this.#keptBytes > MAX_KEPT_BYTES) this.#kept.clear()
    else this.#kept.set(file.path, file)
  }
}

function bounded(bytes: Buffer, limit: number): FileResult {
  if (bytes.length <= limit) return { bytes }
  return { failure: 'too-large', reason: `it has ${bytes.length} bytes; ${limit} are allowed` }
}

function readBounded(path: string, limit: number): FileResult {
  let descriptor: number
  try {
    // Without O_NONBLOCK, opening a named pipe waits for a writer.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    return failureOf(error)
  }
  try {
    const state = fstatSync(descriptor)
    if (!state.isFile())
      return { failure: 'unreadable', reason: state.isDirectory() ? 'it is a folder' : 'it is not a regular file' }
    if (state.size > limit) return { failure: 'too-large', reason: `it has ${state.size} bytes; ${limit} are allowed` }
    const bytes = readFileSync(descriptor)
    return bytes.length > limit ? { failure: 'too-large', reason: `it has more than ${limit} bytes` } : { bytes }
  } catch (error) {
    return failureOf(error)
  } finally {
    closeSync(descriptor)
  }
}

function failureOf(error: unknown): FileResult {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'EIO'
  const failure = code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'unreadable'
  return { failure, reason: REASONS[code] ?? `the system says ${code}` }
}
