import type { ErrorObject } from 'ajv'
import { isObject } from '../core/json.js'
import { type DocumentPath, pathText } from '../core/path-text.js'
import { type Document, Site } from './document.js'
import { quoted, type Report } from './report.js'
import { problemOf } from './schema-problems.js'
import { Strays } from './strays.js'
import { type FileType, fileValidator } from './validators.js'

/** Sections that hold entries by name. */
const NAMED = new Set([
  'keys',
  'groups',
  'prices',
  'kinds',
  'upstreams',
  'models',
  'protocols',
  'resource_kinds',
  'task_kinds',
  'routes',
  'schemas',
])
/** Keywords whose inner errors say more. */
const WRAPPERS = new Set(['if', 'anyOf', 'propertyNames'])
/** Keywords that may fail several times at one place, once for each member. */
const PER_MEMBER = new Set(['required', 'additionalProperties'])

/**
 * Holds a document against the schema of its type. Entries that do not fit are noted in `document.misfits`: later
 * steps know them by name and leave their content alone.
 */
export function checkSchema(document: Document, type: FileType, report: Report): void {
  for (const { rule, path } of document.tree.faults) {
    if (rule === 'bad-key') document.misfits.add(entryOf(path, type))
    // Of two sections of one name, the names in the other one are not known.
    if (path.length === 1 && type !== 'kind') loseSections([String(path[0])], report)
  }
  const validate = fileValidator(type)
  if (type === 'routes' && document.tree.value === null) return
  if (validate(document.tree.value)) return
  const errors = (validate.errors ?? []).filter(error => !WRAPPERS.has(error.keyword))
  const mistyped = new Set(errors.filter(error => error.keyword === 'type').map(error => error.instancePath))
  const renamed = renamedKeys(errors, document, type)
  const strays = new Strays(type === 'kind' ? {} : document.tree.value, NAMED, unknownAtTop(errors))
  const reported = new Set(document.tree.faults.map(fault => JSON.stringify([fault.path, ''])))
  for (const error of errors) {
    if (mistyped.has(error.instancePath) && error.keyword !== 'type' && error.propertyName === undefined) continue
    const path = pathOf(error, document)
    const identity = JSON.stringify([path, PER_MEMBER.has(error.keyword) ? error.params : ''])
    const entry = entryOf(path, type)
    document.misfits.add(entry)
    if (path.length === 1 && type !== 'kind') loseSections([entry], report)
    const stray = strayProblem(error, path, strays)
    if (stray !== undefined) {
      if (stray.message !== undefined && !reported.has(stray.message))
        report.error('bad-indentation', new Site(document, stray.path), stray.message, { on: 'key' })
      if (stray.message !== undefined) reported.add(stray.message)
      continue
    }
    if (
      reported.has(identity) ||
      (error.keyword === 'required' && renamed.has(memberOf(error, error.params.missingProperty)))
    )
      continue
    reported.add(identity)
    const { rule, message, site, ...details } = problemOf(error, new Site(document, path), type)
    // What a mapping should look like is said once, however many of its members differ.
    const sentence = JSON.stringify([site.text, message])
    if (!reported.has(sentence)) report.error(rule, site, message, details)
    reported.add(sentence)
    if (type !== 'kind' && error.keyword === 'additionalProperties' && error.instancePath === '')
      loseSections(sectionsMeant(document, path, details.meant?.()), report)
  }
}

function unknownAtTop(errors: readonly ErrorObject[]): ReadonlySet<string> {
  const unknown = errors.filter(
    ({ keyword, instancePath }) => keyword === 'additionalProperties' && instancePath === '',
  )
  return new Set(unknown.map(({ params }) => String(params.additionalProperty)))
}

interface Stray {
  readonly path: DocumentPath
  /** Absent if the stray entry has already been reported. */
  readonly message?: string
}

/** What should be said of an error that comes from indentation alone. */
function strayProblem(error: ErrorObject, path: DocumentPath, strays: Strays): Stray | undefined {
  const within = path.length > 2 || error.keyword !== 'type' ? strays.sectionWithin(path) : undefined
  if (within !== undefined) {
    const [holder, name] = within
    const message = `${quoted(String(name))} is indented, so it belongs to ${quoted(String(holder))}; unindent its line and those below it`
    return { path: within, message }
  }
  if (error.keyword === 'type' && strays.isBare(path)) return { path }
  const beside = strays.besideEntry(path)
  if (beside !== undefined) {
    const member = quoted(String(path[1]))
    const message = `${member} is beside ${quoted(beside.entry)}, not under it; indent it by two more spaces`
    return beside.first ? { path: path.slice(0, 2), message } : { path }
  }
  if (path.length !== 1) return undefined
  const name = String(path[0])
  if (error.keyword === 'type' && error.data === null && strays.isEmptied(name)) return { path }
  const above = error.keyword === 'additionalProperties' ? strays.sectionAbove(name) : undefined
  if (above === undefined) return undefined
  const message = `${quoted(name)} is not indented, so it is not under ${quoted(above.section)}; indent it, and what belongs to it, by two spaces`
  return above.first ? { path, message } : { path }
}

/** What an unknown key at the top of a file may stand for: what is nearest, or else any section that the file has not. */
function sectionsMeant(document: Document, path: DocumentPath, meant: string | undefined): readonly string[] {
  if (meant !== undefined) return [meant]
  const content = document.tree.value
  const [name = ''] = path
  if (!isObject(content) || !isObject(content[name])) return []
  return [...NAMED].filter(section => !Object.hasOwn(content, section))
}

/** Notes that these sections are not known. Any name may be in a file that would have been included. */
function loseSections(sections: readonly string[], report: Report): void {
  for (const section of sections.includes('include') ? NAMED : sections) report.lose(section)
}

/** Keys that are missing because they have another name there, by the path of their mapping. */
function renamedKeys(errors: readonly ErrorObject[], document: Document, type: FileType): ReadonlySet<string> {
  const required = new Set(errors.filter(({ keyword }) => keyword === 'required').map(error => error.instancePath))
  const unknown = errors.filter(
    ({ keyword, instancePath }) => keyword === 'additionalProperties' && required.has(instancePath),
  )
  return new Set(
    unknown.map(error => {
      const { meant } = problemOf(error, new Site(document, pathOf(error, document)), type)
      return memberOf(error, meant?.())
    }),
  )
}

function memberOf({ instancePath }: ErrorObject, name: unknown): string {
  return JSON.stringify([instancePath, name])
}

/** The entry that a path is in: a section of the file, or an entry of a section that holds named entries. */
function entryOf(path: DocumentPath, type: FileType): string {
  if (type === 'kind') return ''
  return pathText(path.slice(0, NAMED.has(String(path[0])) ? 2 : 1))
}

/** Path of the problem: for a name (unknown, or of a wrong form) the path of that member. */
function pathOf(error: ErrorObject, document: Document): DocumentPath {
  const path: (string | number)[] = []
  let value: unknown = document.tree.value
  for (const part of error.instancePath.split('/').slice(1)) {
    const segment = part.replaceAll('~1', '/').replaceAll('~0', '~')
    path.push(Array.isArray(value) ? Number(segment) : segment)
    value = (value as Record<string, unknown>)[segment]
  }
  const name = error.propertyName ?? error.params.additionalProperty
  return typeof name === 'string' ? [...path, name] : path
}
