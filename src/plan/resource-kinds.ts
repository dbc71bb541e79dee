import type { ObjectConfig, RouteConfig } from '../core/config.js'
import type { ResourceKind, ResourceReference, ResourceRule, ResultRule } from '../core/resources.js'
import { parsePath } from '../wire/json-edit.js'

/** Kinds of things that upstreams keep, by name, each made once. */
export class ResourceKinds {
  readonly #kinds = new Map<string, ResourceKind>()

  constructor(objects: Readonly<Record<string, ObjectConfig>>) {
    const brought = new Map<string, { kind: ResourceKind; path: readonly string[] }[]>()
    for (const [name, { title, id, prefix, wrapped, expires, links = {}, list }] of Object.entries(objects)) {
      const brings: { kind: ResourceKind; path: readonly string[] }[] = []
      brought.set(name, brings)
      this.#kinds.set(name, {
        name,
        title: title ?? name.replaceAll('-', ' '),
        id: parsePath(id),
        prefix: prefix ?? '',
        wrapped,
        expires: expires === undefined ? undefined : parsePath(expires),
        brings,
        links: Object.entries(links).map(([path, target]) => ({ path: parsePath(path), target })),
        list,
      })
    }
    for (const [name, { brings = {} }] of Object.entries(objects)) brought.get(name)?.push(...this.named(brings))
  }

  /** Config has checked that all names lead somewhere. */
  named(paths: Readonly<Record<string, readonly string[]>>): { kind: ResourceKind; path: readonly string[] }[] {
    return Object.entries(paths).flatMap(([name, list]) => {
      const kind = this.#kinds.get(name)
      return kind === undefined ? [] : list.map(path => ({ kind, path: parsePath(path) }))
    })
  }

  holding({ holding }: RouteConfig): ResourceRule | undefined {
    const kind = this.#kinds.get(holding?.object ?? '')
    if (holding === undefined || kind === undefined) return undefined
    return { verb: holding.verb, kind, parameter: holding.parameter }
  }

  results({ results }: RouteConfig): ResultRule | undefined {
    return results && { id: parsePath(results.id), model: parsePath(results.model) }
  }

  names({ names }: RouteConfig): readonly ResourceReference[] {
    return this.named(names)
  }
}
