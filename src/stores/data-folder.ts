import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../core/store.js'

const DATA = 'data.mdb'
const LOCK = 'lock.mdb'
/** What a fresh store needs at once. */
const FIRST_PAGES = 64 * 1024
/** `mm_magic` of the first meta page, behind the page's own head, and how much has to be there to hold both of them. */
const MAGIC = 0xbeefc0de
const MAGIC_AT = 24
const LEAST = 8192

/**
 * Makes the folder and looks at what stands in it. The store's library ends the whole process where it meets a file that
 * is none of its own, or a disk without room for a new one, so that is found out first. Throws {@link StoreError}.
 */
export function prepareFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    const size = checkFile(join(folder, DATA))
    checkFile(join(folder, LOCK))
    if (size === 0) probe(folder)
    else checkMagic(join(folder, DATA), size)
  } catch (error) {
    throw storeErrorOf(error, folder)
  }
}

/** Whether a store stands in the folder already; changes nothing. Throws {@link StoreError} where something else does. */
export function holdsStore(folder: string): boolean {
  try {
    const size = checkFile(join(folder, DATA))
    if (size > 0) checkMagic(join(folder, DATA), size)
    return size > 0
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

/** The file's size; 0 where there is none yet. */
function checkFile(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 0
  if (!found.isFile()) throw new StoreError('corrupt', `${path} is not a file`)
  accessSync(path, constants.R_OK | constants.W_OK)
  return found.size
}

function checkMagic(path: string, size: number): void {
  const file = openSync(path, 'r')
  try {
    const head = Buffer.alloc(MAGIC_AT + 4)
    readSync(file, head, 0, head.length, 0)
    if (size >= LEAST && head.readUInt32LE(MAGIC_AT) === MAGIC) return
  } finally {
    closeSync(file)
  }
  throw new StoreError('corrupt', `${path} is not a store, or a broken one; move it away and a new one is made`)
}

function probe(folder: string): void {
  const file = join(folder, `probe.${process.pid}`)
  try {
    writeFileSync(file, Buffer.alloc(FIRST_PAGES), { mode: 0o600 })
  } finally {
    rmSync(file, { force: true })
  }
}
