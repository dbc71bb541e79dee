import type { Config } from '../core/config.js'
import { FEATURE_WORDS } from '../core/feature-settings.generated.js'
import type { Steps } from '../core/steps.js'
import { SECTIONS, type Section } from './reading/messages.js'
import { isSame } from './reading/same.js'
import { shownNames } from './shown.js'

/** Sections that the log names as a whole, beside those whose entries have names. */
const SETTINGS = [
  'listen',
  'limits',
  'timeouts',
  'retry',
  'store',
  'spool',
  'log',
  'transport',
  'workers',
  'reload',
  'media',
  'tasks',
  'webhooks',
  'admin',
  'telemetry',
  'identity',
  'response_schemas',
  'checks',
] as const satisfies readonly Exclude<keyof Config, Section>[]

interface NamedChanges {
  readonly added?: readonly string[]
  readonly removed?: readonly string[]
  readonly changed?: readonly string[]
  /** The common entries are in another order, and order decides between globs. */
  readonly reordered?: true
}

/** The differences, by names only; unchanged sections are omitted. */
type Changes = Partial<Record<Section, NamedChanges>> & { readonly settings?: readonly string[] }

/** What a reload changes, for its log line. */
export function* changesBetween(before: Config, after: Config): Steps<Changes> {
  const changes: Partial<Record<Section, NamedChanges>> = {}
  for (const section of SECTIONS) {
    const changed = yield* compare(before[section], after[section], section === 'models')
    if (Object.keys(changed).length > 0) changes[section] = changed
  }
  const settings = [
    ...SETTINGS.filter(name => !isSame(before[name], after[name])),
    ...FEATURE_WORDS.filter(word => !isSame(before.features[word], after.features[word])),
  ]
  return settings.length === 0 ? changes : { ...changes, settings }
}

function* compare(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  ordered: boolean,
): Steps<NamedChanges> {
  const added: string[] = []
  const changed: string[] = []
  const kept: string[] = []
  for (const name of Object.keys(after)) {
    if (!Object.hasOwn(before, name)) added.push(name)
    else {
      kept.push(name)
      if (!isSame(before[name], after[name])) changed.push(name)
    }
    yield
  }
  const names = Object.keys(before)
  const removed = names.filter(name => !Object.hasOwn(after, name))
  const stayed = removed.length === 0 ? names : names.filter(name => Object.hasOwn(after, name))
  const isReordered = ordered && stayed.some((name, index) => name !== kept[index])
  return {
    ...(added.length === 0 ? {} : { added: shownNames(added) }),
    ...(removed.length === 0 ? {} : { removed: shownNames(removed) }),
    ...(changed.length === 0 ? {} : { changed: shownNames(changed) }),
    ...(isReordered ? { reordered: true } : {}),
  }
}
