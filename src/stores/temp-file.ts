import { randomBytes } from 'node:crypto'
import { type FileHandle, open, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { madeBuffers } from '../core/dead-buffers.js'
import { makeFolder } from '../core/folders.js'

/** How files begin that {@link prepareTempFolder} may remove. */
const PREFIX = 'gateway-spool-'
const NAME = /^gateway-spool-[0-9a-f]{32}$/

/**
 * A file without a name, which only this process can read and which is gone when it is closed, or when the process ends,
 * however it ends. Where the system lets no open file be unlinked, it has its name until it is closed.
 */
export class TempFile {
  readonly #handle: FileHandle
  /** The name, where it is still there. */
  readonly #path: string | undefined

  private constructor(handle: FileHandle, path: string | undefined) {
    this.#handle = handle
    this.#path = path
  }

  static async create(folder: string): Promise<TempFile> {
    const path = tempPath(folder)
    const handle = await open(path, 'wx+', 0o600)
    return new TempFile(handle, (await removed(path)) ? undefined : path)
  }

  /** Writes all of the bytes. */
  async write(bytes: Buffer, position: number): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      at += (await this.#handle.write(bytes, at, bytes.length - at, position + at)).bytesWritten
    }
  }

  /** As many bytes as there are at the position, up to `length`. */
  async read(position: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafeSlow(length)
    madeBuffers(length)
    const { bytesRead } = await this.#handle.read(bytes, 0, length, position)
    return bytes.subarray(0, bytesRead)
  }

  /** Waits for current reads and writes, and releases the file. */
  async close(): Promise<void> {
    await this.#handle.close()
    if (this.#path !== undefined) await removed(this.#path)
  }
}

/** A unique name. */
export function tempPath(folder: string): string {
  return join(folder, PREFIX + randomBytes(16).toString('hex'))
}

/**
 * Makes the folder and clears it of files that a process left when it ended before it could unlink them, or on a system
 * where it could not. A file that another process has open loses its name, which it does not need.
 */
export async function prepareTempFolder(folder: string): Promise<void> {
  await makeFolder(folder, 0o700)
  const left = (await readdir(folder)).filter(name => NAME.test(name))
  for (const name of left) await removed(join(folder, name))
}

/** Whether the error says that the file is gone. */
async function removed(path: string): Promise<boolean> {
  try {
    await unlink(path)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT'
  }
}
