import { hash } from 'node:crypto'
import { dirname, sep } from 'node:path'
import type { VerbConfig } from '../../core/config.js'

/** What an entry says, by what it says it of, as texts to compare. */
export type Words = ReadonlyMap<string, string>

/** A word whose text is never shown: only whether it is another one. */
export const SECRET = 'secret'

/** Of a digest that only says whether something has changed. */
const SHOWN_DIGITS = 12

/** Stands for what is too long to show, or may hold a secret. */
export function digestOf(value: unknown): string {
  return hash('sha256', JSON.stringify(value)).slice(0, SHOWN_DIGITS)
}

/** JSON with paths from a folder, where they are below it. */
export function fromFolder(json: string, folder: string | undefined): string {
  // Of the root, each path would be below it, and every slash of an address, too.
  if (folder === undefined || folder === dirname(folder)) return json
  const [place, slash] = [folder, sep].map(text => JSON.stringify(text).slice(1, -1)) as [string, string]
  return json.replaceAll(`${place}${slash}`, './').replaceAll(`"${place}"`, '"."')
}

interface Changing {
  readonly request?: readonly VerbConfig[]
  readonly response?: readonly VerbConfig[]
}

/** What entries change of requests and answers, by what says it; what changes nothing says nothing. */
export function transformWords(parts: readonly (readonly [string, Changing])[]): Words {
  const said = parts.flatMap(([name, { request = [], response = [] }]) =>
    request.length + response.length > 0 ? [[name, request, response]] : [],
  )
  return new Map(said.length === 0 ? [] : [['transforms', digestOf(said)]])
}
