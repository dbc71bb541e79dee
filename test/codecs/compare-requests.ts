import { isDeepStrictEqual } from 'node:util'
import type { Field } from '../../src/core/fields.js'
import type { TextRequest } from '../../src/core/text.js'
import type { Ledger } from './ledger.js'
import { brief } from './support.js'

/** Fields whose loss explains that of what is compared. */
const DECLARED: Readonly<Record<'text' | 'calls' | 'results' | 'tools' | 'format', readonly string[]>> = {
  text: ['prefill', 'refusals'] satisfies Field[],
  calls: ['customTools'] satisfies Field[],
  results: ['resultError'] satisfies Field[],
  tools: ['customTools', 'toolSubset', 'toolChoice'] satisfies Field[],
  format: ['formatJson', 'formatSchema'] satisfies Field[],
}

/** Notes what of a request a server of another protocol reads again. `lost` are the fields that were named as lost. */
export function compareRequests(
  ledger: Ledger,
  pair: string,
  name: string,
  request: TextRequest,
  back: TextRequest,
  lost: readonly string[],
): void {
  const note = (what: keyof typeof DECLARED, was: unknown, is: unknown, kept = isDeepStrictEqual(was, is)): void => {
    const declared = lost.some(field => DECLARED[what].includes(field))
    const cause = declared ? lost.join(', ') : `${brief(was, 80)} became ${brief(is, 80)}`
    ledger.note(pair, what, kept, cause, name, declared)
  }
  const said = wordsOf(back).join('\n')
  const missing = wordsOf(request).filter(words => !said.includes(words))
  note('text', missing, said, missing.length === 0)
  const calls = callsOf(request)
  if (calls.length > 0) note('calls', calls, callsOf(back))
  const results = resultsOf(request)
  if (results.length > 0) note('results', results, resultsOf(back), sameResults(results, resultsOf(back)))
  const tools = functionsOf(request)
  if (tools.length > 0) note('tools', tools, functionsOf(back))
  if (request.format !== undefined) note('format', request.format.type, back.format?.type)
}

/** Every text of a request but those of results. */
function wordsOf(request: TextRequest): readonly string[] {
  const parts = [...request.system, ...request.turns.flatMap(turn => turn.parts)]
  return parts.flatMap(part => (part.type === 'text' ? [part.text.trim()] : []))
}

function callsOf({ turns }: TextRequest): readonly unknown[] {
  return turns.flatMap(({ parts }) =>
    parts.flatMap(part =>
      part.type === 'call' ? [[part.name, part.custom === true ? part.arguments : jsonOf(part.arguments)]] : [],
    ),
  )
}

interface Result {
  /** Which call it answers. */
  readonly call: number
  readonly text: string
}

function resultsOf({ turns }: TextRequest): readonly Result[] {
  const all = turns.flatMap(({ parts }) => parts)
  const calls = all.filter(part => part.type === 'call')
  return all.flatMap(part =>
    part.type === 'result'
      ? [
          {
            call: calls.findIndex(({ id }) => id === part.id),
            text: part.parts.map(one => (one.type === 'text' ? one.text : '')).join(''),
          },
        ]
      : [],
  )
}

/** Objects may be written with other spaces, and a result may say where its media are. */
function sameResults(was: readonly Result[], is: readonly Result[]): boolean {
  return was.every(({ call, text }) =>
    is.some(one => one.call === call && (one.text.includes(text) || isDeepStrictEqual(jsonOf(one.text), jsonOf(text)))),
  )
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text === '' ? '{}' : text)
  } catch {
    return text
  }
}

function functionsOf({ tools }: TextRequest): readonly unknown[] {
  return tools.flatMap(tool =>
    tool.type === 'function' ? [[tool.name, Object.keys(tool.schema?.properties ?? {}).sort()]] : [],
  )
}
