import { boundText } from '../core/bound-text.js'
import type { ScopeLimits } from '../core/bounds.js'
import type { KeyConfig } from '../core/config.js'
import { EXPOSED } from '../core/exposed.js'
import { PRIORITIES } from '../core/priority.js'
import type { KeyTerms, StoredKey } from '../features/keys/record.js'
import type { AdminHost } from './host.js'
import { AdminError, COUNT, FLAG, MOMENT, objectOf, type Schema, TEXT } from './route.js'

const NAMES: Schema = { type: 'array', items: TEXT }

/** What a key may do: the members of an entry of `keys` in the file. */
export const TERMS: Readonly<Record<string, Schema>> = {
  group: TEXT,
  models: NAMES,
  limits: { type: 'object' },
  routes: NAMES,
  networks: NAMES,
  regions: NAMES,
  priority: { type: 'string', enum: [...PRIORITIES] },
  expires: TEXT,
  disabled: FLAG,
  strict: FLAG,
  generations: { type: 'string', enum: ['pin'] },
  expose: { type: 'array', items: { type: 'string', enum: [...EXPOSED] } },
}

/** A key as the API shows it: never its secret. */
export const KEY: Schema = objectOf(
  {
    name: TEXT,
    source: { type: 'string', enum: ['file', 'store'] },
    created: MOMENT,
    secrets: COUNT,
    warning: TEXT,
    ...TERMS,
  },
  ['name', 'source'],
)

/** A key whose secret was made just now. */
export const NEW_KEY: Schema = objectOf(
  {
    ...(KEY.properties as Readonly<Record<string, Schema>>),
    secret: { type: 'string', description: 'Shown here alone.' },
  },
  ['name', 'source', 'secret'],
)

export function storedView({ name, created, secrets, terms }: StoredKey, host: AdminHost): object {
  const faults = host.faultsOf(name, terms)
  const unfit = faults.length === 0 ? undefined : `unfit for the file, and refused: ${faults.join('; ')}`
  const warning = host.plan.keys.has(name) ? SHADOWED : unfit
  return {
    name,
    source: 'store',
    created,
    secrets: secrets.length,
    ...terms,
    ...(warning === undefined ? {} : { warning }),
  }
}

/** The same after its terms were set: also with what of them has no effect. */
export function changedView(key: StoredKey, host: AdminHost): object {
  const shadowed = host.plan.keys.has(key.name) ? [SHADOWED] : []
  const warnings = [...shadowed, ...host.warningsOf(key.name, key.terms)]
  return { ...storedView(key, host), ...(warnings.length === 0 ? {} : { warning: warnings.join('; ') }) }
}

const SHADOWED = 'the file has a key of that name, which wins: this one is refused'

/** `regions`: with those that its groups allow. */
export function fileView(name: string, key: KeyConfig, { plan }: AdminHost): object {
  const { group, models, limits, routes, networks, priority, disabled, strict, expose, generations } = key
  const { expires, secrets, absent } = key
  const regions = plan.keys.holderOf(name)?.caller.regions
  // Members that are undefined are left out of the answer.
  return {
    ...{ name, source: 'file', secrets: secrets.length, group, models },
    ...(limits === undefined ? {} : { limits: writtenLimits(limits) }),
    ...{ routes, networks, priority, disabled, strict, expose, generations },
    ...(regions === undefined ? {} : { regions: [...regions] }),
    ...(expires === undefined ? {} : { expires: new Date(expires).toISOString() }),
    ...(absent === undefined ? {} : { warning: absent }),
  }
}

/** As the file says them: several bounds of one unit are a list. */
function writtenLimits({ bounds, body, ...others }: ScopeLimits): object {
  const written: Record<string, unknown> = {}
  for (const unit of ['requests', 'tokens', 'budget'] as const) {
    const texts = bounds.filter(one => one.unit === unit).map(boundText)
    if (texts.length > 0) written[unit] = texts.length === 1 ? texts[0] : texts
  }
  return { ...written, ...others, ...(body === undefined ? {} : { body: String(body) }) }
}

/** Throws `invalid_request` where the terms do not fit. */
export function mustFit(name: string, terms: KeyTerms, host: AdminHost): void {
  const faults = host.faultsOf(name, terms)
  if (faults.length > 0) throw new AdminError(400, 'invalid_request', faults.join('; '))
}

export function unknownKey(name: string, { plan }: AdminHost): AdminError {
  const where = plan.keys.has(name) ? 'it is in the file, and can only be changed there' : 'the store has no such key'
  return new AdminError(plan.keys.has(name) ? 409 : 404, plan.keys.has(name) ? 'conflict' : 'not_found', where)
}
