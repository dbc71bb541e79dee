import { readdirSync, readlinkSync } from 'node:fs'
import { inTime } from './journal.js'
import type { RequestOptions } from './raw-client.js'

/** A text field, or a file with its media type. */
export type Part = readonly [name: string, value: string] | readonly [name: string, file: Uint8Array, head: string]

/** A form with the boundary `B`, as most clients write it. */
export function formOf(...parts: readonly Part[]): Buffer {
  const pieces = parts.flatMap(([name, content, head]) => {
    const more = head === undefined ? '' : `; filename="${name}.bin"\r\nContent-Type: ${head}`
    return [Buffer.from(`--B\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`), content, '\r\n']
  })
  return Buffer.concat([...pieces, '--B--\r\n'].map(piece => Buffer.from(piece as string)))
}

/** A request with this form. */
export function sending(body: Uint8Array | string, more: RequestOptions = {}): RequestOptions {
  return { ...more, body, headers: { 'content-type': 'multipart/form-data; boundary=B', ...more.headers } }
}

/** Bytes that look like nothing else, line breaks and dashes among them. */
export function noise(length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  let state = 1
  for (let at = 0; at < length; at += 1) {
    state = (state * 48271) % 2147483647
    bytes[at] = state >> 8
  }
  return bytes
}

/**
 * Bodies that this process holds on the disk in a folder: files that are there by name, and open ones whose name is gone
 * already, where the system reports them.
 */
export function heldIn(folder: string): readonly string[] {
  return [...listed(folder), ...openFiles().filter(file => file.startsWith(folder))]
}

/** Waits until something is held in a folder, or nothing is any more; what is. */
export async function untilHeld(folder: string, something: boolean): Promise<readonly string[]> {
  let isOver = false
  const watch = async (): Promise<void> => {
    while (!isOver && heldIn(folder).length > 0 !== something) await new Promise(setImmediate)
  }
  const message = (): string => `held in ${folder}: ${heldIn(folder).join() || 'nothing'}`
  await inTime(watch(), message).finally(() => {
    isOver = true
  })
  return heldIn(folder)
}

function listed(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function openFiles(): readonly string[] {
  return listed('/proc/self/fd').flatMap(fd => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
}
