import type { DocumentPath } from '../core/path-text.js'
import { type Document, Site, type Spot } from './document.js'

interface Sited {
  readonly site: Site
}

interface Sections {
  readonly keys: ReadonlyMap<string, Sited>
  readonly groups: ReadonlyMap<string, Sited>
  readonly models: ReadonlyMap<string, Sited & { readonly targets?: readonly Site[] }>
  readonly resource_kinds: ReadonlyMap<string, Sited>
  readonly task_kinds: ReadonlyMap<string, Sited>
  readonly protocols: ReadonlyMap<string, Sited>
  readonly routes: ReadonlyMap<string, Sited>
  readonly upstreams: ReadonlyMap<string, { readonly sites: readonly Site[] }>
}

/** Leads from a path of the merged configuration back to where it is written. */
export class Locator {
  readonly #main: Document
  readonly #sections: Sections

  constructor(main: Document, sections: Sections) {
    this.#main = main
    this.#sections = sections
  }

  /** The place of a path such as `models.swift-large[1].upstream`, or of as much of it as is written. */
  spot(path: DocumentPath, on: 'key' | 'value' = 'value'): Spot {
    const [section, name, ...rest] = path
    const [first = new Site(this.#main, path), ...others] = this.#sites(String(section), String(name), rest)
    const exact = [first, ...others].find(site => site.document.tree.has(site.path)) ?? first
    return exact.document.spot(exact.path, on)
  }

  /** Possible sites of the rest of a path, the most likely first. */
  #sites(section: string, name: string, rest: DocumentPath): readonly Site[] {
    const { keys, groups, models, resource_kinds, task_kinds, protocols, routes, upstreams } = this.#sections
    if (section === 'upstreams') return (upstreams.get(name)?.sites ?? []).map(site => site.child(...rest))
    if (section === 'models') {
      const model = models.get(name)
      const [index, ...inner] = rest
      const target = typeof index === 'number' ? model?.targets?.[index] : undefined
      return model === undefined ? [] : [target?.child(...inner) ?? model.site.child(...rest)]
    }
    const entries: ReadonlyMap<string, Sited> | undefined = {
      keys,
      groups,
      resource_kinds,
      task_kinds,
      protocols,
      routes,
    }[section]
    const entry = entries?.get(name)
    return entry === undefined ? [] : [entry.site.child(...rest)]
  }
}
