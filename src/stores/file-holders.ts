import { closeSync, ftruncateSync, rmSync, statSync, utimes } from 'node:fs'
import { join } from 'node:path'
import { makeFolderSync } from '../core/folders.js'
import { StoreError } from '../core/store.js'
import {
  forgetMark,
  isGone,
  isMine,
  isOnThisMachine,
  isStale,
  type Mark,
  markOf,
  nameOf,
  namesIn,
  newMark,
  openMark,
} from './file-marks.js'

/** How often a holder renews its file, milliseconds. */
const HEARTBEAT_MS = 5000

/**
 * The processes that have a store open, as files beside it. They take no block of the disk, so that a full disk locks
 * no one out: one that writes makes its file one byte long, which is a hole. Processes of one machine may share a
 * store; its library makes that safe. Two machines cannot: the library's locks are in memory that they do not share,
 * so the second one is refused. A process that would change the schema under a running one is refused as well.
 */
export class Holder {
  readonly #path: string
  readonly #timer: NodeJS.Timeout
  readonly #mark: Mark
  #file: number | undefined
  #isWriting = false

  /** Throws {@link StoreError} if a process that cannot share the store has it open. */
  constructor(folder: string, schema: number) {
    const holders = holdersOf(folder)
    makeFolderSync(holders, 0o700)
    this.#mark = newMark(schema)
    this.#path = join(holders, nameOf(this.#mark))
    this.#file = openMark(this.#path)
    try {
      for (const name of namesIn(holders)) judge(holders, name, this.#mark)
    } catch (error) {
      this.remove()
      throw error
    }
    this.#timer = setInterval(() => this.beat(), HEARTBEAT_MS)
    this.#timer.unref()
  }

  /** Tells other processes that this one writes: {@link isWritten} sees it at once. Throws where that cannot be written. */
  beginWriting(): void {
    if (this.#isWriting) return
    if (this.#file !== undefined) ftruncateSync(this.#file, 1)
    this.#isWriting = true
  }

  endWriting(): void {
    if (!this.#isWriting) return
    try {
      if (this.#file !== undefined) ftruncateSync(this.#file, 0)
      this.#isWriting = false
    } catch {
      // The end of the next write tries again.
    }
  }

  release(): void {
    clearInterval(this.#timer)
    this.remove()
  }

  private remove(): void {
    forgetMark(this.#mark)
    this.letGo()
    rmSync(this.#path, { force: true })
  }

  private beat(): void {
    const now = new Date()
    utimes(this.#path, now, now, error => {
      // Another process took it for the file of a process that is gone.
      if (error?.code === 'ENOENT' && isMine(this.#mark)) this.renew()
    })
  }

  private renew(): void {
    this.letGo()
    try {
      this.#file = openMark(this.#path)
      if (this.#file !== undefined && this.#isWriting) ftruncateSync(this.#file, 1)
    } catch {
      // The folder may be gone, and the store with it: the next beat tries again.
    }
  }

  private letGo(): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }
}

/** Whether another process is writing into the store of a folder. */
export function isWritten(folder: string): boolean {
  const holders = holdersOf(folder)
  return namesIn(holders).some(name => {
    const mark = markOf(name)
    if (mark === undefined || isMine(mark)) return false
    const path = join(holders, name)
    const isMarked = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
    return isMarked && !isGone(mark, path) && !isStale(path)
  })
}

function judge(holders: string, name: string, own: Mark): void {
  const other = markOf(name)
  if (other === undefined || isMine(other)) return
  // A stopped process on this machine keeps its lock.
  if (isGone(other, join(holders, name))) {
    rmSync(join(holders, name), { force: true })
    return
  }
  const isHere = isOnThisMachine(other)
  const who = isHere ? `process ${other.pid}` : `another machine (${other.host}), which cannot share it`
  if (isHere && other.schema === own.schema) return
  if (isHere && other.schema > own.schema) {
    throw new StoreError('newer', `the store is in use by a newer version (${who})`)
  }
  throw new StoreError('refused', `the store is in use by ${isHere ? `an older version (${who})` : who}`)
}

function holdersOf(folder: string): string {
  return join(folder, 'holders')
}
