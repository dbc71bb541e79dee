import { accessSync, constants, existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from '../core/store.js'
import { checkDataFile, checkLockFile, emptyFile } from './data-file.js'

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
    mkdirSync(folder, { recursive: true, mode: 0o700 })
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
