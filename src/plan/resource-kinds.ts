import type { ResourceKindConfig, RouteConfig } from '../core/config.js'
import type { ResourceKind, ResourceReference, ResourceRule, ResultRule } from '../core/resources.js'
import { parsePath } from '../wire/json-edit.js'

/** Kinds of resources that upstreams keep, by name, each made once. */
export class ResourceKinds {
  readonly #kinds = new Map<string, ResourceKind>()

  constructor(kinds: Readonly<Record<string, ResourceKindConfig>>) {
    const produced = new Map<string, { kind: ResourceKind; path: readonly string[] }[]>()
    for (const [name, { title, id, prefix, wrapped, expires, links = {}, list }] of Object.entries(kinds)) {
      const produces: { kind: ResourceKind; path: readonly string[] }[] = []
      produced.set(name, produces)
      this.#kinds.set(name, {
        name,
        title: title ?? name.replaceAll('-', ' '),
        id: parsePath(id),
        prefix: prefix ?? '',
        wrapped,
        expires: expires === undefined ? undefined : parsePath(expires),
        produces,
        links: Object.entries(links).map(([path, target]) => ({ path: parsePath(path), target })),
        list,
      })
    }
    for (const [name, { produces = {} }] of Object.entries(kinds)) produced.get(name)?.push(...this.named(produces))
  }

  /** Config has checked that all names lead somewhere. */
  named(paths: Readonly<Record<string, readonly string[]>>): { kind: ResourceKind; path: readonly string[] }[] {
    return Object.entries(paths).flatMap(([name, list]) => {
      const kind = this.#kinds.get(name)
      return kind === undefined ? [] : list.map(path => ({ kind, path: parsePath(path) }))
    })
  }

  resource({ resource }: RouteConfig): ResourceRule | undefined {
    const kind = this.#kinds.get(resource?.kind ?? '')
    if (resource === undefined || kind === undefined) return undefined
    return { action: resource.action, kind, parameter: resource.parameter }
  }

  results({ results }: RouteConfig): ResultRule | undefined {
    return results && { id: parsePath(results.id), model: parsePath(results.model) }
  }

  references({ references }: RouteConfig): readonly ResourceReference[] {
    return this.named(references)
  }
}
