import { isLeftOut, withDefault, writesDefault } from '../../core/default-model.js'
import type { Match, ModelPointer, Pointer, Route } from '../../core/plan.js'
import { KEEP_MEMBER, mayAskToKeep } from '../../core/stateful.js'
import { JsonScanner, type ScanProblem } from '../../wire/json-scan.js'
import { withoutKept } from '../../wire/kept-members.js'
import { LONGEST_NAME } from '../names.js'
import type { Ask } from './ask.js'
import { Refused } from './refused.js'

/** What a request turns out to ask for. */
export interface Admitted {
  /** `''` on routes without one. */
  readonly model: string
  readonly stream: boolean
  /** Where one was given, and the route takes one. */
  readonly body: Uint8Array | undefined
  /** Where the model's name stands in the body. */
  readonly span: { readonly start: number; readonly end: number } | undefined
  /** The member of the body that is to hold the model, where none does. */
  readonly missing?: string
}

type Read = (pointer: Pointer) => unknown

/** Reads and checks a request as far as it is given: what no body says, `ask` says. */
export function admit({ route, params }: Match, query: URLSearchParams | undefined, ask: Ask): Admitted {
  const body = bodyOf(route, ask)
  if (body !== undefined && route.body === 'multipart' && route.validateJson === undefined) {
    throw new Refused(
      'unsupported_media_type',
      'the body of this route is a form, which is not read here: leave it out',
    )
  }
  const scanner = body === undefined || !isJson(route) ? undefined : scan(route, body)
  if (body !== undefined && asksToKeep(route, scanner)) {
    return admit({ route, params }, query, { ...ask, body: withoutKept(body) })
  }
  const read: Read = ({ from, name }) => {
    if (from === 'path') return params[name]
    if (from === 'query') return query?.get(name) ?? undefined
    return valueAt(scanner?.found(name))
  }
  return {
    model: route.model === undefined ? '' : modelOf(route.model, read, scanner === undefined ? ask.model : undefined),
    stream: streamOf(route, read, ask, scanner !== undefined),
    body,
    ...(route.model === undefined || !inBody(route.model) ? { span: undefined } : placeOf(route.model, scanner)),
  }
}

/** Whether the answer is to be kept by the gateway. */
function asksToKeep({ protocol }: Route, scanner: JsonScanner | undefined): boolean {
  return mayAskToKeep(protocol?.name) && valueAt(scanner?.found(KEEP_MEMBER)) === true
}

/** One that is too long to be read is there all the same. */
function valueAt(found: ReturnType<JsonScanner['found']>): unknown {
  return found === undefined || found.value !== undefined ? found?.value : {}
}

/** Where the model stands, or is to stand. */
function placeOf(pointer: ModelPointer, scanner: JsonScanner | undefined): Pick<Admitted, 'span' | 'missing'> {
  const span = scanner?.found(pointer.name)
  const isMissing = scanner !== undefined && writesDefault(pointer) && isLeftOut(valueAt(span))
  return { span, ...(isMissing && { missing: pointer.name }) }
}

/** Whether a body that is given is read as JSON: also where it could be a form. */
function isJson({ body }: Route): boolean {
  return body === 'json' || body === 'multipart'
}

function inBody({ from }: Pointer): boolean {
  return from === 'body' || from === 'form'
}

function bodyOf(route: Route, { body }: Ask): Uint8Array | undefined {
  if (body === undefined || route.body === 'none') return undefined
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  if (bytes.length <= route.limits.body) return bytes
  throw new Refused('too_large', `the body has ${bytes.length} bytes; ${route.limits.body} are allowed`)
}

function scan({ body: form, control, limits, ...route }: Route, body: Uint8Array): JsonScanner {
  const validate = form === 'multipart' ? route.validateJson : route.validate
  const scanner = new JsonScanner({ control, depth: limits.depth, members: limits.members, values: limits.values })
  scanner.push(body)
  const problem = scanner.end()
  if (problem !== undefined) throw malformed(problem, limits)
  const violation = validate?.(withDefault(JSON.parse(scanner.skeleton()), route.model))[0]
  if (violation !== undefined) throw new Refused('invalid_parameter', violation.message)
  return scanner
}

function malformed({ rule, at, name }: ScanProblem, { depth, members, values }: Route['limits']): Refused {
  switch (rule) {
    case 'duplicate':
      return new Refused('duplicate_parameter', `"${name}" stands twice in the body`)
    case 'variant':
      return new Refused('invalid_parameter', `a parameter of the body has to be written exactly so: "${name}"`)
    case 'syntax':
      return new Refused('bad_request', `the body is not JSON (at byte ${at})`)
    case 'not-object':
      return new Refused('bad_request', 'the body is no JSON object')
    case 'depth':
      return new Refused('bad_request', `the body is nested deeper than ${depth} levels`)
    case 'members':
      return new Refused('bad_request', `an object of the body has more than ${members} members`)
    case 'values':
      return new Refused('bad_request', `the body has more than ${values} values`)
  }
}

function modelOf(pointer: ModelPointer, read: Read, asked: string | undefined): string {
  const { values = {}, byDefault } = pointer
  const named = read(pointer) ?? asked
  const value = isLeftOut(named) ? byDefault : named
  const place = `${pointer.from}.${pointer.name}`
  if (typeof value === 'string' && Object.hasOwn(values, value)) return values[value] ?? value
  if (value === undefined || value === '') throw new Refused('invalid_parameter', `no model is named in ${place}`)
  if (typeof value === 'string' && value.length <= LONGEST_NAME) return value
  throw new Refused('invalid_parameter', `${place} is no text of at most ${LONGEST_NAME} characters`)
}

function streamOf({ stream }: Route, read: Read, ask: Ask, bodyRead: boolean): boolean {
  if (typeof stream === 'string') return stream === 'always'
  const value = read(stream)
  if (value === undefined || value === null) return !(inBody(stream) && bodyRead) && ask.stream === true
  if (typeof value === 'boolean') return value
  if (!inBody(stream)) return value === 'true' || value === '1'
  throw new Refused('invalid_parameter', `"${stream.name}" has to be true or false`)
}
