import type { Document } from '../../config/document.js'
import { parse } from '../../config/parse.js'
import { Report } from '../../config/report.js'
import { Source } from '../../config/source.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { pathText } from '../../core/path-text.js'
import type { Problem } from '../../core/problems.js'
import { variableOf } from './address.js'
import { Draft } from './draft.js'
import type { Finding, Mark } from './findings.js'
import { providerWords } from './kinds.js'
import type { Reader } from './reader.js'
import { Reading, View } from './view.js'

export interface Translated {
  /** YAML of this gateway. */
  readonly text: string
  readonly findings: readonly Finding[]
  /** The outermost words of a file in which no model, upstream or key was found. */
  readonly unknown?: readonly string[]
}

/** What `routes/imports/NAME.yaml` has for a gateway whose files are read. */
export interface Foreign {
  readonly name: string
  readonly reader: Reader
  readonly data: JsonObject
}

/** A foreign file in this language, or why it cannot be read. */
export async function translate(
  foreign: Foreign,
  file: string,
  text: string,
  model: string,
): Promise<Translated | { readonly problems: readonly Problem[] }> {
  const report = new Report()
  const document = parse(new Source(file, text), false, report)
  if (document === undefined || report.failed || !isObject(document.tree.value)) {
    return { problems: report.failed ? report.sorted() : [notAMapping(file)] }
  }
  const words = await providerWords()
  const draft = new Draft(words.kindOf)
  // What the file names is for nothing else.
  for (const name of variablesIn(document.tree.value)) draft.variableFor(`env:${name}`, name)
  const reading = new Reading(document)
  foreign.reader({
    root: new View(reading, [], document.tree.value),
    data: new View(new Reading(document), [], foreign.data),
    ...{ draft, words, model },
  })
  const isEmpty = draft.models.size + draft.upstreamNames.length + draft.keys.size === 0
  if (draft.keys.size === 0) {
    const env = draft.variableFor('caller:me', 'GATEWAY_KEY')
    draft.addKey('me', { secret: { env, generate: true }, models: ['*'] })
  }
  draft.joinEveryone()
  reportNotNumbers(reading)
  reportUnread(reading, document, foreign.data)
  const head = [`Imported from a file of ${foreign.name}. What could not be taken over was reported beside it.`]
  return {
    ...{ text: draft.text(head), findings: reading.findings },
    ...(isEmpty && { unknown: Object.keys(document.tree.value) }),
  }
}

function variablesIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [variableOf(value) ?? []].flat()
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(variablesIn) : []
}

/** Unless more is said of it. */
function reportNotNumbers({ notNumbers, findings }: Reading): void {
  for (const view of notNumbers)
    if (findings.every(({ path }) => path !== pathText(view.path)))
      view.find('manual', 'it is not a number, and is left out')
}

function reportUnread(reading: Reading, document: Document, data: JsonObject): void {
  const reasons = isObject(data.reasons) ? data.reasons : {}
  for (const path of [...reading.unread([], document.tree.value)]) {
    const names = path.filter(segment => typeof segment === 'string')
    const view = new View(reading, path, null)
    const tails = names.map((_, at) => names.slice(at).join('.'))
    const heads = names.map((_, at) => names.slice(0, names.length - at).join('.'))
    const known = [...tails, ...heads].map(one => reasons[one]).find(one => typeof one === 'string')
    const [, mark, reason] = /^(\w+) (.*)$/.exec(String(known ?? '')) ?? []
    view.find((mark as Mark | undefined) ?? 'unsupported', reason ?? 'there is nothing like it here')
  }
}

function notAMapping(file: string): Problem {
  const position = { file, line: 1, column: 1 }
  return { severity: 'error', rule: 'import', path: '', message: 'expected a mapping', position, length: 1 }
}
