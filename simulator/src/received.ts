import type { IncomingMessage, ServerResponse } from 'node:http'
import { Entry } from './entry.js'

const MAX_BYTES = 64 * 1024 * 1024

/** The last requests: at most so many, and at most 64 MiB of their bodies. */
export class Received {
  /** Oldest first. One array for ever, so that a test may hold it. */
  readonly entries: Entry[] = []
  readonly #most: number
  #number = 0
  #bytes = 0

  constructor(most: number) {
    this.#most = most
  }

  add(request: IncomingMessage, response: ServerResponse): Entry {
    this.#number += 1
    const entry = new Entry(this.#number, request, response)
    this.entries.push(entry)
    this.#trim()
    return entry
  }

  /** Adds a piece of a request's body to its entry. */
  receive(entry: Entry, chunk: Buffer): void {
    const before = entry.kept
    entry.receive(chunk)
    this.#bytes += entry.kept - before
    this.#trim()
  }

  clear(): void {
    this.entries.length = 0
    this.#number = 0
    this.#bytes = 0
  }

  #trim(): void {
    while (this.entries.length > this.#most || (this.#bytes > MAX_BYTES && this.entries.length > 1)) {
      this.#bytes -= this.entries.shift()?.kept ?? 0
    }
  }
}
