import { isObject, type JsonObject } from '../core/json.js'
import { type DocumentPath, pathText } from '../core/path-text.js'

interface Beside {
  readonly entry: string
  /** Whether it is the first member of that entry. */
  readonly first: boolean
}

/** What entries have, and hardly any entry is called. */
const OF_UPSTREAMS: ReadonlySet<string> = new Set(['kind', 'base', 'secret', 'credential', 'speaks', 'headers'])
const MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  upstreams: OF_UPSTREAMS,
  kinds: OF_UPSTREAMS,
  keys: new Set(['secret', 'models', 'expires']),
  models: new Set(['upstream', 'as', 'targets']),
}

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
  /** The empty entry before a member that is beside it, by the texts of both paths. */
  readonly #beside = new Map<string, Beside>()
  readonly #bare = new Set<string>()

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
    for (const [section, members] of Object.entries(MEMBERS)) this.#findBeside(section, members)
  }

  #findBeside(section: string, members: ReadonlySet<string>): void {
    const entries = this.#content[section]
    if (!isObject(entries)) return
    let bare: string | undefined
    let first = true
    for (const [name, value] of Object.entries(entries)) {
      if (bare === undefined || !members.has(name)) {
        bare = value === null ? name : undefined
        first = true
        continue
      }
      this.#beside.set(pathText([section, name]), { entry: bare, first })
      this.#bare.add(pathText([section, bare]))
      first = false
    }
  }

  /** The empty entry that a member of entries is beside, instead of under it. */
  besideEntry(path: DocumentPath): Beside | undefined {
    return this.#beside.get(pathText(path.slice(0, 2)))
  }

  /** Whether an entry is empty because its members are beside it. */
  isBare(path: DocumentPath): boolean {
    return path.length === 2 && this.#bare.has(pathText(path))
  }

  /** The empty section that a top-level key probably belongs to, and whether it is the first of them. */
  sectionAbove(key: string): { readonly section: string; readonly first: boolean } | undefined {
    const section = this.#below.get(key)
    return section === undefined ? undefined : { section, first: this.#first.get(section) === key }
  }

  /** Whether the entries of an empty section are below it, not indented. */
  isEmptied(section: string): boolean {
    return this.#first.has(section)
  }

  /** The section that is indented too far and became an entry of another one; the path of that entry. */
  sectionWithin([section, name]: DocumentPath): DocumentPath | undefined {
    if (section === undefined || typeof name !== 'string' || !this.#sections.has(name)) return undefined
    return Object.hasOwn(this.#content, name) ? undefined : [section, name]
  }
}
