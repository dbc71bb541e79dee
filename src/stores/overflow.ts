import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { makeFolderSync } from '../core/folders.js'
import type { Overflow } from '../core/long-text.js'
import { tempPath } from './temp-file.js'

/** What a file needs of its {@link Spooler}. */
interface Host {
  readonly folder: string
  /** Throws where there is no room for so many bytes; negative ones are given back. */
  disk(bytes: number): void
}

/**
 * Text of one answer that waits on the disk for the answer's end, in an unnamed file that is created by the first
 * write. Synchronous, because the writer of an answer cannot wait in the middle: blocks are small and few, and go to
 * the system's cache. If the disk is full, text stays in memory.
 */
export class OverflowFile implements Overflow {
  readonly #host: Host
  #file: number | undefined
  /** The name, where the system lets no open file be without one. */
  #path: string | undefined
  #length = 0
  #state: 'open' | 'full' | 'closed' = 'open'

  /** Made by {@link Spooler.overflow}. */
  constructor(host: Host) {
    this.#host = host
  }

  write(bytes: Buffer): number | undefined {
    if (this.#state !== 'open') return undefined
    const at = this.#length
    try {
      this.#host.disk(bytes.length)
    } catch {
      return undefined
    }
    this.#length += bytes.length
    try {
      this.#file ??= this.create()
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(this.#file, bytes, done, bytes.length - done, at + done)
      }
      return at
    } catch {
      // The disk is full, or descriptors are: what has been written can still be read.
      this.#state = 'full'
      return undefined
    }
  }

  read(at: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafeSlow(length)
    let done = 0
    while (this.#file !== undefined && done < length) {
      const read = readSync(this.#file, bytes, done, length - done, at + done)
      if (read === 0) break
      done += read
    }
    if (done < length) throw new Error('the text of an answer is no longer stored')
    return bytes
  }

  /** Lets go of the file. May be called again. */
  close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    if (this.#file !== undefined) closeSync(this.#file)
    if (this.#path !== undefined) rmSync(this.#path, { force: true })
    this.#file = undefined
    this.#host.disk(-this.#length)
    this.#length = 0
  }

  private create(): number {
    const { folder } = this.#host
    const path = tempPath(folder)
    makeFolderSync(folder, 0o700)
    const file = openSync(path, 'wx+', 0o600)
    try {
      rmSync(path)
    } catch {
      this.#path = path
    }
    return file
  }
}
