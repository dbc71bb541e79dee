import type { Config } from '../core/config.js'
import { isObject, type JsonObject } from '../core/json.js'

/** Names of one kind that are offered at most. */
const MAX_NAMES = 500

interface Snippet {
  readonly label: string
  readonly description: string
  readonly body: string
}

/**
 * The schema of gateway.yaml for one file: editors offer the names of its upstreams, models and groups besides. Nothing is refused
 * that the schema itself takes, so that new names can be written.
 */
export function ownSchema(schema: JsonObject, { upstreams, models, groups }: Config): JsonObject {
  const own = Object.entries(upstreams).map(([name, { kind }]) =>
    snippet(name, kind === undefined ? 'An upstream of this file.' : `An upstream of this file, of the kind ${kind}.`),
  )
  const served = Object.entries(models).map(([name, { targets }]) =>
    snippet(name, `A model of this file, served by ${targets.map(({ upstream }) => upstream).join(', ')}.`),
  )
  const shared = Object.keys(groups).map(name => snippet(name, 'A group of this file.'))
  const definitions = isObject(schema.definitions) ? schema.definitions : {}
  return {
    ...schema,
    definitions: {
      ...definitions,
      upstreamName: offering(definitions.upstreamName, own),
      model: offering(definitions.model, own),
      knownModel: offering(definitions.knownModel, served),
      groupName: offering(definitions.groupName, shared),
    },
  }
}

/** A definition with further snippets, before those that it has. */
function offering(definition: unknown, snippets: readonly Snippet[]): JsonObject {
  const before = isObject(definition) ? definition : {}
  const others = Array.isArray(before.defaultSnippets) ? before.defaultSnippets : []
  const offered = snippets.slice(0, MAX_NAMES).map(one => ({ ...one }))
  return { ...before, defaultSnippets: [...offered, ...others] }
}

/** In quotes where YAML needs them; a dollar sign would begin a place to fill. */
function snippet(name: string, description: string): Snippet {
  const text = /^[A-Za-z][\w./-]*$/.test(name) ? name : JSON.stringify(name)
  return { label: name, description, body: text.replaceAll('$', '\\$') }
}
