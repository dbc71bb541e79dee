import type { Target } from '../core/codec.js'
import type { TextRequest } from '../core/text.js'
import { forceTool } from './forced-tool.js'
import { type FreeTextTools, freeTextTools } from './free-text-tools.js'
import { type NarrowNames, narrowNames, shortIds } from './narrow-names.js'

/** Protocols that can ask for an answer by a schema, but not for JSON of any form. */
const NO_JSON_MODE: ReadonlySet<string> = new Set(['messages', 'converse'])

/** A request for text as an upstream is sent it, and what its answer is read back with. */
interface SentText {
  readonly request: TextRequest
  /** Whether the answer's form is asked for by a tool. */
  readonly isForced: boolean
  readonly names: NarrowNames | undefined
  readonly freeText: FreeTextTools | undefined
}

/**
 * Gives a request what an upstream of `protocol` can be asked for: the answer's form by a tool where the model has no other
 * way (a request that is only `counted` keeps it), names of tools and ids of calls that it takes, and tools of free text as functions.
 * Throws `untranslatable`.
 */
export function sentText(request: TextRequest, target: Target, protocol: string, counted = false): SentText {
  const byTool = target.traits.structured === 'tool' || (request.format?.type === 'json' && NO_JSON_MODE.has(protocol))
  const forced = byTool && !counted ? forceTool(request, target) : request
  const names = narrowNames(forced, protocol)
  const named = shortIds(names?.request(forced) ?? forced, protocol)
  const freeText = freeTextTools(named, protocol)
  return { request: freeText?.request(named, target) ?? named, isForced: forced !== request, names, freeText }
}
