import { type InBody, malformedBody, violated } from '../core/admission.js'
import { withDefault } from '../core/default-model.js'
import { isObject, parseJson } from '../core/json.js'
import type { Route } from '../core/plan.js'
import type { ResourceReference } from '../core/resources.js'
import type { Pointer } from '../core/route-settings.js'
import { notedNames } from './demand-values.js'
import { findValue } from './json-edit.js'
import type { JsonScanner, ScanOptions, WatchedKeys } from './json-scan.js'
import { MemberKeys } from './member-keys.js'

// How a JSON body is read and checked for its route. Serving a request and explaining one both do it here.

/** Cached: one object for all requests of a route. */
export function scanOptions(route: Route): ScanOptions {
  const known = SCANS.get(route)
  if (known !== undefined) return known
  const { control, limits, references, members, protocol } = route
  const watched = referenceMembers(references)
  const noted = protocol?.amounts && notedNames(protocol.amounts)
  const made = {
    control,
    depth: limits.depth,
    members: limits.members,
    values: limits.values,
    ...(watched && { watched }),
    ...(noted && { noted }),
    ...(members.any.length > 0 && { ruled: new MemberKeys(members.any) }),
  }
  SCANS.set(route, made)
  return made
}

const SCANS = new WeakMap<Route, ScanOptions>()

/** Members that name resources, for a scanner to watch for; undefined if the route has none. */
function referenceMembers(names: readonly ResourceReference[]): WatchedKeys | undefined {
  if (names.length === 0) return undefined
  const members = new Set(names.map(({ path }) => JSON.stringify(path.findLast(segment => segment !== '*'))))
  const quoted = [...members]
  return { quoted, bare: quoted.map(member => Buffer.from(member.slice(1, -1))) }
}

/** The schema of JSON bodies. */
export function schemaOf(route: Route): Route['validate'] {
  return route.body === 'multipart' ? route.validateJson : route.validate
}

/** Whether the pointer refers to a member of a JSON body. */
export function isInBody(pointer: Pointer | undefined): pointer is Pointer {
  return pointer?.from === 'body' || pointer?.from === 'form'
}

/** The top-level members of a scanned body. */
interface ScannedMembers {
  /** Those that decide what happens. `{}` for a list, an object, or a value that is too long to be read. */
  readonly control: InBody
  /** All of them, with all that is in them; absent for a large body. */
  readonly whole: InBody | undefined
  /** All of them; texts and lists of a large body may be cut, since they are as its schema sees them. */
  readonly member: InBody
}

/**
 * The members of a body that `scanner` has been given. Throws what the client gets if it is malformed, or does not fit the route's
 * schema; `onViolation` is called before the latter.
 */
export function scannedMembers(
  route: Route,
  scanner: JsonScanner,
  bytes: Buffer,
  onViolation: (control: InBody) => void = () => undefined,
): ScannedMembers {
  const problem = scanner.end()
  if (problem !== undefined) throw malformedBody(problem, route.limits)
  const validate = schemaOf(route)
  const skeleton = validate === undefined ? '' : scanner.skeleton()
  const shape: unknown = skeleton === '' ? undefined : JSON.parse(skeleton)
  const control: InBody = name => {
    const found = scanner.found(name)
    return found === undefined || found.value !== undefined ? found?.value : {}
  }
  const violation = validate?.(withDefault(shape, route.model))[0]
  if (violation !== undefined) {
    onViolation(control)
    throw violated(violation)
  }
  // A long skeleton may lack the last items.
  const isWhole = isObject(shape) && skeleton.length < MAX_WHOLE_SKELETON_CHARS
  return {
    control,
    whole: isWhole ? name => shape[name] : undefined,
    member: isObject(shape) ? name => shape[name] : name => valueIn(bytes, name),
  }
}

/** The value of a top-level member of a valid document without a skeleton. */
function valueIn(bytes: Buffer, name: string): unknown {
  const found = findValue(bytes, [name])
  return found && parseJson(bytes.toString('utf8', found.start, found.end))
}

/** A shorter skeleton is certainly whole. */
const MAX_WHOLE_SKELETON_CHARS = 128 * 1024
