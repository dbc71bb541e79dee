import type { ErrorObject } from 'ajv'
import type { Site } from './document.js'
import { suggest } from './suggest.js'

/*
 * Values that are nearly right: what should be done about them, beside what is wrong, and what was meant. Nothing here repeats
 * a value without bounds.
 */

/** Longest value that is looked at. */
const MAX_VALUE_CHARS = 120

/** Of a section that is a mapping, the member that people write in its place. */
const ONLY_MEMBERS: Readonly<Record<string, Partial<Readonly<Record<'number' | 'string', string>>>>> = {
  listen: { number: 'port', string: 'host' },
  log: { string: 'level' },
  retry: { number: 'attempts' },
  store: { string: 'type' },
}

/** Failures to retry under names that other programs have for them. */
const FAILURES: Readonly<Record<string, string>> = { timeout: 'first_byte', error: 'connect', network: 'connect' }

/** Advice that follows a message; empty if there is none. */
export function cureOf({ keyword, params, data, parentSchema }: ErrorObject, site: Site): string {
  const wanted = keyword === 'type' ? [params.type].flat() : []
  if (Array.isArray(data) && wanted.includes('object') && site.path.length === 1)
    return `; entries have names here instead of dashes: ${site.text}: { NAME: … }`
  if (wanted.length === 1 && wanted[0] === 'array' && typeof data === 'object' && data !== null)
    return '; write it as a list: [ ], or with a dash'
  if (Array.isArray(data) && site.path.at(-1) === 'upstream')
    return '; write several as a list of targets: [FIRST, SECOND]'
  if (typeof data !== 'string' || data.length > MAX_VALUE_CHARS) return ''
  // Written as codes, so that the bundle is ASCII: the runtime keeps its text, in half the memory.
  if (/[\u201c\u201d\u201e\u201f\u2018\u2019\u00ab\u00bb]/.test(data))
    return '; YAML does not know these quotes: write " or \''
  const isNumber = /^\d+$/.test(data) && !isTextWanted(parentSchema)
  const isFlag = /^(true|false)$/.test(data) && wanted.includes('boolean')
  return isNumber || isFlag ? '; remove the quotes' : ''
}

function isTextWanted(schema: ErrorObject['parentSchema']): boolean {
  return schema?.type === 'string' || String(schema?.errorMessage).includes('duration')
}

/** What was probably meant, as it should be written. */
export function slipMeant({ keyword, params, data }: ErrorObject, site: Site): string | undefined {
  const [section = ''] = site.path
  if (keyword === 'type' && site.path.length === 1 && (typeof data === 'string' || typeof data === 'number')) {
    const member = ONLY_MEMBERS[section]?.[typeof data as 'number' | 'string']
    return member === undefined || !/^[\w.:-]{1,40}$/.test(String(data)) ? undefined : `{ ${member}: ${data} }`
  }
  if (typeof data !== 'string' || data.length > MAX_VALUE_CHARS) return undefined
  if (keyword === 'enum' && site.path.at(-2) === 'on') return FAILURES[data] ?? suggest(data, params.allowedValues)
  if (keyword !== 'pattern') return undefined
  if (section === 'models') return targetMeant(data)
  if (/^\/\S*$/.test(data)) return `POST ${data}`
  return /^[A-Z]+ [^/\s:][^\s:]*$/.test(data) ? data.replace(' ', ' /') : undefined
}

/** `a, b` → `[a, b]`, `north/large` → `{ upstream: north, as: large }`. */
export function targetMeant(text: string): string | undefined {
  const names = text.split(',').map(name => name.trim())
  if (names.length > 1) return names.every(isName) ? `[${names.join(', ')}]` : undefined
  const slash = text.indexOf('/')
  const [upstream, model] = [text.slice(0, slash), text.slice(slash + 1)]
  return slash > 0 && isName(upstream) && /^[\w./:-]+$/.test(model)
    ? `{ upstream: ${upstream}, as: ${model} }`
    : undefined
}

function isName(text: string): boolean {
  return /^[A-Za-z0-9][\w.-]*$/.test(text)
}
