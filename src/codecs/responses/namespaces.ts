import { createHash } from 'node:crypto'
import type { JsonObject } from '../../core/json.js'
import type { Tool } from '../../core/text.js'
import type { Reader } from '../read.js'

/** Longest name that all upstreams take. */
const MAX_NAME_CHARS = 64

/**
 * Names of tools in groups (`{ type: 'namespace', name, tools }`), where other protocols have one list: the
 * group's name and the tool's, joined. What the client calls it is kept with the tool (`Tool.within`), so calls of the
 * answer find the way back; calls of earlier turns, and choices, are joined in the same way.
 */
export class Namespaces {
  readonly #taken: Set<unknown>
  readonly #flat = new Map<string, string>()

  /** `tools`: those of the request, in which names outside groups are kept. */
  constructor(tools: readonly Reader[]) {
    this.#taken = new Set(tools.filter(({ value }) => value.type !== 'namespace').map(({ value }) => value.name))
  }

  /** The joined name; the same for the same two names, and for no other two. */
  flat(namespace: string, name: string): string {
    const key = JSON.stringify([namespace, name])
    const known = this.#flat.get(key)
    if (known !== undefined) return known
    const joined = namespace + (namespace.endsWith('_') || name.startsWith('_') ? '' : '__') + name
    const flat = joined.length > MAX_NAME_CHARS || this.#taken.has(joined) ? digested(joined, key) : joined
    this.#taken.add(flat)
    this.#flat.set(key, flat)
    return flat
  }

  /** The name of what a call, a result or a choice speaks of. */
  nameOf(value: JsonObject, name: string): string {
    return typeof value.namespace === 'string' && value.namespace !== '' ? this.flat(value.namespace, name) : name
  }
}

function digested(joined: string, key: string): string {
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 8)
  return `${joined.slice(0, MAX_NAME_CHARS - digest.length - 1)}_${digest}`
}

/** `name`, and `namespace` where it is in one, of a call to one of these tools. */
export function clientNames(
  tools: readonly Tool[],
  flat: string,
): { readonly name: string; readonly namespace?: string } {
  const tool = tools.find(({ name, type }) => type !== 'hosted' && name === flat)
  return tool?.type === 'hosted' || tool?.within === undefined ? { name: flat } : tool.within
}
