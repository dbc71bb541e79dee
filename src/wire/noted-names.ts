import { BACKSLASH } from '../core/ascii.js'
import { isAt } from './bytes.js'

/** Names of members, as `JSON.parse` compares them: exactly, once escapes are decoded. */
export class NotedNames {
  readonly #names: readonly { readonly name: string; readonly bytes: Buffer }[]

  constructor(names: readonly string[]) {
    this.#names = [...new Set(names)].map(name => ({ name, bytes: Buffer.from(name) }))
  }

  /** The name that the key from `start` to `end` (as written, without quotes) is. */
  find(bytes: Buffer, start: number, end: number): string | undefined {
    for (const { name, bytes: wanted } of this.#names) if (isAt(bytes, start, end, wanted)) return name
    for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return this.#decoded(bytes, start, end)
    return undefined
  }

  #decoded(bytes: Buffer, start: number, end: number): string | undefined {
    const key: unknown = JSON.parse(`"${bytes.toString('utf8', start, end)}"`)
    return this.#names.find(({ name }) => name === key)?.name
  }
}
