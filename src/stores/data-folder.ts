import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { makeFolderSync } from '../core/folders.js'
import { StoreError } from '../core/store.js'

const DATA = 'data.mdb'
const LOCK = 'lock.mdb'
/** Folder of large values, one file each. */
export const BLOBS = 'blobs'
/** Disk space that a new store needs at once. */
const MIN_FREE_BYTES = 64 * 1024
/**
 * Creates the folder and checks its contents. The store's library kills the process if it opens a file of another
 * format, or if the disk has no room for a new one, so both are checked first. Throws {@link StoreError}.
 */
export function prepareFolder(folder: string): void {
  try {
    makeFolderSync(folder, 0o700)
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    checkBlobs(folder)
    if (!checkFiles(folder)) probe(folder)
  } catch (error) {
    throw storeErrorOf(error, folder)
  }
}

/** Whether the folder already has a store; changes nothing. Throws {@link StoreError} if it has other files. */
export function hasStore(folder: string): boolean {
  try {
    return checkFiles(folder)
  } catch (error) {
    throw storeErrorOf(error, folder)
  }
}

/** What an error of the file system means for a store in this folder. */
export function storeErrorOf(error: unknown, folder: string): StoreError {
  if (error instanceof StoreError) return error
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const reason = typeof code === 'string' ? code : error instanceof Error ? error.message : String(error)
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new StoreError('full', `no space is left for the store in ${folder} (${reason})`, error)
  }
  return new StoreError('refused', `the store's folder ${folder} cannot be used (${reason})`, error)
}

/** Whether there is a store. An empty file is not one, as a crash in the first moment leaves it. */
function checkFiles(folder: string): boolean {
  const [data, lock] = [join(folder, DATA), join(folder, LOCK)]
  const size = checkFile(data)
  if (checkFile(lock) !== undefined) checkLockFile(lock)
  if (size === 0 && existsSync(join(folder, BLOBS))) throw emptyFile(data)
  if (size === undefined || size === 0) return false
  checkDataFile(data)
  return true
}

/** This folder is made when the store has been opened for the first time. */
function checkBlobs(folder: string): void {
  const path = join(folder, BLOBS)
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isDirectory()) throw new StoreError('corrupt', `${path} is not a folder; move it away`)
  accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
}

/** The file's size; undefined where there is none yet. */
function checkFile(path: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return undefined
  if (!found.isFile()) throw new StoreError('corrupt', `${path} is not a file; move it away`)
  accessSync(path, constants.R_OK | constants.W_OK)
  return found.size
}

function probe(folder: string): void {
  const file = join(folder, `probe.${process.pid}`)
  try {
    writeFileSync(file, Buffer.alloc(MIN_FREE_BYTES), { mode: 0o600 })
  } finally {
    rmSync(file, { force: true })
  }
}

// The file format of the store's library, in so far as needed to check before opening that a file is complete: the
// library maps it into memory, and a missing page kills the process (SIGBUS). See `MDB_page`, `MDB_meta`, `MDB_db`
// and `MDB_node` in its `mdb.c`. Numbers are little-endian, as on every machine that the library supports.

const MAGIC = 0xbeefc0de
const FORMAT = 2
/** Of the lock file; the bits above say how it locks. */
const LOCK_FORMAT = 2
const LOCK_FORMAT_BITS = 0xfff

const PAGE_HEADER_BYTES = 24
const META_BYTES = 168
const [SMALLEST_PAGE, LARGEST_PAGE] = [512, 65_536]
const [P_BRANCH, P_LEAF, P_META] = [0x01, 0x02, 0x08]
const [F_BIGDATA, F_SUBDATA] = [0x01, 0x02]
const NODE_HEADER_BYTES = 8
/** Offset of the root page's number in `MDB_db`. */
const ROOT_OFFSET = 40
const NO_PAGE = 0xffff_ffff_ffff_ffffn
/** Deeper trees are none: a page has room for two children at least, and numbers of pages have 48 bits. */
const MAX_DEPTH = 48
/** Maximum reads of a file that other processes are writing. */
const MAX_READ_ATTEMPTS = 5

const ADVICE = 'restore it from a backup, or move the whole folder away to start with a new store'

interface Meta {
  readonly pageSize: number
  readonly roots: readonly bigint[]
  readonly lastPage: bigint
  readonly transaction: bigint
}

/** Throws {@link StoreError} where the file is not a store, is of a newer format, or lacks pages that are in use. */
function checkDataFile(path: string): void {
  const file = openSync(path, 'r')
  try {
    for (let look = 1; ; look++) {
      const meta = newestMeta(file, path)
      const size = fstatSync(file).size
      // The last pages of a file that is whole may be missing as well, where they were never used.
      if (BigInt(size) >= (meta.lastPage + 1n) * BigInt(meta.pageSize)) return
      if (meta.roots.every(root => isWhole(file, size, meta.pageSize, root, 0))) return
      const isQuiet = newestMeta(file, path).transaction === meta.transaction
      if (isQuiet || look === MAX_READ_ATTEMPTS) {
        throw new StoreError('corrupt', `${path} is truncated to ${size} bytes; ${ADVICE}`)
      }
    }
  } finally {
    closeSync(file)
  }
}

/** Throws {@link StoreError} where the file is something else than a lock file, which the library would overwrite. */
function checkLockFile(path: string): void {
  const file = openSync(path, 'r')
  try {
    const head = read(file, 0, 8)
    const magic = head?.readUInt32LE(0)
    // A crash may leave it empty; the first process that opens the store rewrites it.
    if (fstatSync(file).size === 0 || magic === 0) return
    if (head === undefined || magic !== MAGIC) {
      throw new StoreError('corrupt', `${path} is not the lock file of a store; move it away`)
    }
    const format = head.readUInt32LE(4) & LOCK_FORMAT_BITS
    if (format > LOCK_FORMAT) throw newer(path, format, LOCK_FORMAT)
  } finally {
    closeSync(file)
  }
}

function emptyFile(path: string): StoreError {
  return new StoreError('corrupt', `${path} is empty, but there was a store; ${ADVICE}`)
}

function newestMeta(file: number, path: string): Meta {
  const first = readMeta(file, path, 0)
  const second = readMeta(file, path, first.pageSize)
  if (second.pageSize !== first.pageSize) throw broken(path)
  return second.transaction > first.transaction ? second : first
}

function readMeta(file: number, path: string, at: number): Meta {
  const page = read(file, at, META_BYTES)
  if (page === undefined || page.readUInt32LE(PAGE_HEADER_BYTES) !== MAGIC) throw broken(path)
  const format = page.readUInt32LE(PAGE_HEADER_BYTES + 4) & 0xffff
  if (format > FORMAT) throw newer(path, format, FORMAT)
  const pageSize = page.readUInt32LE(48)
  const isPower = (pageSize & (pageSize - 1)) === 0
  const isMeta = (page.readUInt16LE(18) & P_META) !== 0
  if (!isMeta || format !== FORMAT || !isPower || pageSize < SMALLEST_PAGE || pageSize > LARGEST_PAGE)
    throw broken(path)
  return {
    pageSize,
    roots: [page.readBigUInt64LE(48 + ROOT_OFFSET), page.readBigUInt64LE(96 + ROOT_OFFSET)],
    lastPage: page.readBigUInt64LE(144),
    transaction: page.readBigUInt64LE(152),
  }
}

/** Whether every page of the tree below `number` is in the file. */
function isWhole(file: number, size: number, pageSize: number, number: bigint, depth: number): boolean {
  if (number === NO_PAGE) return true
  const has = (first: bigint, pages: bigint): boolean => (first + pages) * BigInt(pageSize) <= BigInt(size)
  if (depth > MAX_DEPTH || !has(number, 1n)) return false
  const page = read(file, Number(number) * pageSize, pageSize)
  if (page === undefined || page.readBigUInt64LE(0) !== number) return false
  const flags = page.readUInt16LE(18)
  if ((flags & (P_BRANCH | P_LEAF)) === 0) return false
  const nodes = page.readUInt16LE(20) >> 1
  for (let n = 0; n < nodes; n++) {
    const pointer = PAGE_HEADER_BYTES + 2 * n
    if (pointer + 2 > pageSize) return false
    const node = PAGE_HEADER_BYTES + page.readUInt16LE(pointer)
    if (node + NODE_HEADER_BYTES > pageSize) return false
    const [low, kind] = [page.readUInt32LE(node), page.readUInt16LE(node + 4)]
    if ((flags & P_BRANCH) !== 0) {
      const child = (BigInt(kind) << 32n) | BigInt(low)
      if (!isWhole(file, size, pageSize, child, depth + 1)) return false
      continue
    }
    if ((kind & (F_BIGDATA | F_SUBDATA)) === 0) continue
    const data = node + NODE_HEADER_BYTES + page.readUInt16LE(node + 6)
    if (data + ROOT_OFFSET + 8 > pageSize && (kind & F_SUBDATA) !== 0) return false
    if (data + 24 > pageSize) return false
    const isThere =
      (kind & F_SUBDATA) === 0
        ? has(page.readBigUInt64LE(data), page.readBigUInt64LE(data + 16))
        : isWhole(file, size, pageSize, page.readBigUInt64LE(data + ROOT_OFFSET), depth + 1)
    if (!isThere) return false
  }
  return true
}

/** Undefined where the file has fewer bytes. */
function read(file: number, at: number, length: number): Buffer | undefined {
  const bytes = Buffer.alloc(length)
  return readSync(file, bytes, 0, length, at) === length ? bytes : undefined
}

function broken(path: string): StoreError {
  return new StoreError('corrupt', `${path} is not a store, or is damaged; ${ADVICE}`)
}

function newer(path: string, format: number, known: number): StoreError {
  return new StoreError('newer', `${path} has a newer format (${format}; this version supports ${known})`)
}
