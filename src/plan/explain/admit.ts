import type { Match, ModelPointer, Pointer, Route } from '../../core/plan.js'
import { JsonScanner, type ScanProblem } from '../../wire/json-scan.js'
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
  const read: Read = ({ from, name }) => {
    if (from === 'path') return params[name]
    if (from === 'query') return query?.get(name) ?? undefined
    return scanner?.found(name)?.value
  }
  return {
    model: route.model === undefined ? '' : modelOf(route.model, read, scanner === undefined ? ask.model : undefined),
    stream: streamOf(route, read, ask, scanner !== undefined),
    body,
    span: route.model === undefined || !inBody(route.model) ? undefined : scanner?.found(route.model.name),
  }
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
  const scanner = new JsonScanner({ control, depth: limits.depth, members: limits.members })
  scanner.push(body)
  const problem = scanner.end()
  if (problem !== undefined) throw malformed(problem, limits)
  const violation = validate?.(JSON.parse(scanner.skeleton()))[0]
  if (violation !== undefined) throw new Refused('invalid_parameter', violation.message)
  return scanner
}

function malformed({ rule, at, name }: ScanProblem, { depth, members }: Route['limits']): Refused {
  switch (rule) {
    case 'duplicate':
      return new Refused('duplicate_parameter', `"${name}" stands twice in the body`)
    case 'syntax':
      return new Refused('bad_request', `the body is not JSON (at byte ${at})`)
    case 'not-object':
      return new Refused('bad_request', 'the body is no JSON object')
    case 'depth':
      return new Refused('bad_request', `the body is nested deeper than ${depth} levels`)
    case 'members':
      return new Refused('bad_request', `an object of the body has more than ${members} members`)
  }
}

function modelOf(pointer: ModelPointer, read: Read, asked: string | undefined): string {
  const { values = {}, byDefault } = pointer
  const value = read(pointer) ?? asked ?? byDefault
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
