import { isObject, type JsonObject } from '../core/json.js'
import type { DocumentPath } from '../core/path-text.js'

/**
 * Entries that are not indented as they should be. YAML takes them for something else, and every one of them would be a
 * problem of its own.
 */
export class Strays {
  readonly #sections: ReadonlySet<string>
  readonly #content: JsonObject
  /** The empty section above an unknown key, by that key. */
  readonly #below = new Map<string, string>()
  readonly #first = new Map<string, string>()

  /** `sections` hold entries by name; `unknown` are keys at the top of the file that have no place there. */
  constructor(content: unknown, sections: ReadonlySet<string>, unknown: ReadonlySet<string>) {
    this.#sections = sections
    this.#content = isObject(content) ? content : {}
    let above: string | undefined
    for (const [key, value] of Object.entries(this.#content)) {
      if (!unknown.has(key)) {
        above = sections.has(key) && value === null ? key : undefined
      } else if (above !== undefined) {
        this.#below.set(key, above)
        if (!this.#first.has(above)) this.#first.set(above, key)
      }
    }
  }

  /** The empty section that a key at the top of the file was to stand in, and whether it is the first of them. */
  sectionAbove(key: string): { readonly section: string; readonly first: boolean } | undefined {
    const section = this.#below.get(key)
    return section === undefined ? undefined : { section, first: this.#first.get(section) === key }
  }

  /** Whether the entries of an empty section stand below it, not indented. */
  isEmptied(section: string): boolean {
    return this.#first.has(section)
  }

  /** The section that stands, indented too far, as an entry of another one; the path of that entry. */
  sectionWithin([section, name]: DocumentPath): DocumentPath | undefined {
    if (section === undefined || typeof name !== 'string' || !this.#sections.has(name)) return undefined
    return Object.hasOwn(this.#content, name) ? undefined : [section, name]
  }
}
