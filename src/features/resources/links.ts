import { isObject, type JsonObject } from '../../core/json.js'
import type { ResourceKind, ResourcePath } from '../../core/resources.js'
import type { Call } from '../../kernel/call.js'
import { originOf } from '../../kernel/origin.js'
import { setValue } from '../../wire/json-edit.js'
import { idIn } from './ownership-store.js'
import { textAt } from './read-object.js'

/**
 * An answer about an object, with the gateway's addresses instead of the upstream's, since clients must not send their
 * gateway keys there. Adds no address that is not in the answer.
 */
export function withGatewayLinks(call: Call, kind: ResourceKind, bytes: Uint8Array, document: JsonObject): Uint8Array {
  let changed = bytes
  for (const { path, link } of linksIn(call, kind, document)) {
    changed = setValue(changed, path, JSON.stringify(link), 'always')
  }
  return changed
}

/** The same for an object of a list. */
export function objectWithLinks(call: Call, kind: ResourceKind, object: JsonObject): JsonObject {
  const links = linksIn(call, kind, object)
  return links.reduce((changed, { path, link }) => withText(changed, path, link), object)
}

interface Link {
  readonly path: ResourcePath
  readonly link: string
}

function linksIn(call: Call, kind: ResourceKind, object: JsonObject): readonly Link[] {
  return kind.links.flatMap(({ path, target }) => {
    const name = textAt(object, kind.id)
    const id = name === undefined ? undefined : idIn(name, kind)
    if (id === undefined || textAt(object, path) === undefined) return []
    return [{ path, link: (originOf(call) ?? '') + target.replaceAll('{id}', encodeURIComponent(id)) }]
  })
}

function withText(object: JsonObject, [name = '', ...rest]: ResourcePath, text: string): JsonObject {
  const inner = object[name]
  if (rest.length === 0) return { ...object, [name]: text }
  return isObject(inner) ? { ...object, [name]: withText(inner, rest, text) } : object
}
