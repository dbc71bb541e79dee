import type { GroupConfig } from '../../core/accounting-config.js'
import type { KeyConfig, ModelConfig } from '../../core/config.js'
import type { Route } from '../../core/plan.js'
import type { Steps } from '../../core/steps.js'
import { boundWords } from './bound-words.js'
import { ABSENT, type Change, type EntryChange, type Mark, type Side } from './change.js'
import { keyWords } from './key-words.js'
import { isMovedToLaxer } from './moved.js'
import { isForUpstreams, routeWords } from './route-words.js'
import { settingChanges } from './settings.js'
import { upstreamWords } from './upstream-words.js'
import { isWeaker } from './weaker.js'
import { SECRET, transformWords, type Words } from './words.js'

type About = EntryChange['about']

/** What entries say now and said before: keys and groups with their policies, upstreams, bounds of models, settings. */
export function* entryChanges(before: Side, after: Side): Steps<readonly Change[]> {
  const list = new EntryList()
  const [was, is] = [before.config, after.config]
  const moved: Weakened<KeyConfig | GroupConfig> = (one, other) =>
    isMovedToLaxer([one, before], [other, after]) ? ['group'] : []
  yield* list.compare('key', was.keys, is.keys, keyWords, moved)
  yield* list.compare('group', was.groups, is.groups, keyWords, moved, () => ['weaker'])
  yield* list.compare('upstream', before.plan.upstreams, after.plan.upstreams, upstreamWords(before, after))
  yield* list.compare('model', was.models, is.models, modelWords)
  // A model or another route that comes or goes shows in the requests for it.
  yield* list.compare('route', routesOf(before), routesOf(after), routeWords(before, after), undefined, one =>
    isForUpstreams(one) ? [] : ['unreachable'],
  )
  return [...list.changes(), ...settingChanges(before, after)]
}

function modelWords(model: ModelConfig): Words {
  const targets = model.targets.map(target => [target.upstream, target] as const)
  return new Map([...boundWords(model.limits, model.strict), ...transformWords([['', model], ...targets])])
}

function routesOf({ plan }: Side): ReadonlyMap<string, Route> {
  return new Map(plan.routes.map(route => [route.id, route]))
}

type Entries<T> = Readonly<Record<string, T>> | ReadonlyMap<string, T>

/** Words of an entry that say less now, which their texts do not tell. */
type Weakened<T> = (before: T, after: T) => readonly string[]

class EntryList {
  readonly #found = new Map<string, EntryChange & { readonly names: string[] }>()

  changes(): readonly EntryChange[] {
    return [...this.#found.values()]
  }

  *compare<T>(
    about: About,
    before: Entries<T>,
    after: Entries<T>,
    wordsOf: (entry: T, side: 0 | 1) => Words,
    weakened: Weakened<T> = () => [],
    goneMarks: (before: T) => readonly Mark[] = () => [],
  ): Steps<void> {
    const [was, is] = [mapOf(before), mapOf(after)]
    for (const name of new Set([...was.keys(), ...is.keys()])) {
      yield
      const [one, other] = [was.get(name), is.get(name)]
      if (one === other) continue
      if (one === undefined || other === undefined) {
        const marks = other === undefined && one !== undefined ? goneMarks(one) : []
        const declared = 'declared'
        this.#add(
          about,
          name,
          'entry',
          one === undefined ? ABSENT : declared,
          other === undefined ? ABSENT : declared,
          marks,
        )
        continue
      }
      this.#words(about, name, [wordsOf(one, 0), wordsOf(other, 1)], weakened(one, other))
    }
  }

  #words(about: About, name: string, [was, is]: readonly [Words, Words], weakened: readonly string[]): void {
    for (const what of new Set([...was.keys(), ...is.keys()])) {
      const [before, after] = [was.get(what) ?? ABSENT, is.get(what) ?? ABSENT]
      if (before === after) continue
      if (what === SECRET) {
        this.#add(about, name, what, before === ABSENT ? ABSENT : 'one', after === ABSENT ? ABSENT : 'another', [])
        continue
      }
      // A key without a budget was free to use what has no price. What the others say holds for budgets of keys.
      const isOfNew =
        what === 'unpriced' && about === 'key' && ![...was.keys()].some(one => one.startsWith('budget per '))
      const isLess = (!isOfNew && isWeaker(what, was.get(what), is.get(what))) || weakened.includes(what)
      // Requests that name no model had it.
      const isUnserved = what === 'default_model' && after === ABSENT
      this.#add(about, name, what, before, after, isLess ? ['weaker'] : isUnserved ? ['unreachable'] : [])
    }
  }

  #add(about: About, name: string, what: string, before: string, after: string, marks: readonly Mark[]): void {
    const id = JSON.stringify([about, what, before, after, marks])
    const known = this.#found.get(id)
    if (known === undefined) this.#found.set(id, { about, names: [name], what, before, after, marks })
    else known.names.push(name)
  }
}

function mapOf<T>(entries: Entries<T>): ReadonlyMap<string, T> {
  return entries instanceof Map ? entries : new Map(Object.entries(entries))
}
