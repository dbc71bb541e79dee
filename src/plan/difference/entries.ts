import type { Steps } from '../../core/steps.js'
import { boundWords } from './bound-words.js'
import { ABSENT, type Change, type EntryChange, type Mark, type Side } from './change.js'
import { keyWords } from './key-words.js'
import { settingChanges } from './settings.js'
import { upstreamWords } from './upstream-words.js'
import { isWeaker } from './weaker.js'
import { SECRET, type Words } from './words.js'

type About = EntryChange['about']

/** What entries say now and said before: keys and groups with their policies, upstreams, bounds of models, settings. */
export function* entryChanges(before: Side, after: Side): Steps<readonly Change[]> {
  const list = new EntryList()
  const [was, is] = [before.config, after.config]
  yield* list.compare('key', was.keys, is.keys, keyWords)
  yield* list.compare('group', was.groups, is.groups, keyWords)
  yield* list.compare('upstream', before.plan.upstreams, after.plan.upstreams, upstreamWords(before, after))
  yield* list.compare('model', was.models, is.models, one => boundWords(one.limits, one.strict))
  return [...list.changes(), ...settingChanges(was, is)]
}

type Entries<T> = Readonly<Record<string, T>> | ReadonlyMap<string, T>

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
  ): Steps<void> {
    const [was, is] = [mapOf(before), mapOf(after)]
    for (const name of new Set([...was.keys(), ...is.keys()])) {
      yield
      const [one, other] = [was.get(name), is.get(name)]
      if (one === other) continue
      if (one === undefined || other === undefined) {
        // A model that comes or goes shows in the requests for it.
        const marks: readonly Mark[] = about === 'group' && other === undefined ? ['weaker'] : []
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
      this.#words(about, name, wordsOf(one, 0), wordsOf(other, 1))
    }
  }

  #words(about: About, name: string, was: Words, is: Words): void {
    for (const what of new Set([...was.keys(), ...is.keys()])) {
      const [before, after] = [was.get(what) ?? ABSENT, is.get(what) ?? ABSENT]
      if (before === after) continue
      if (what === SECRET) {
        this.#add(about, name, what, before === ABSENT ? ABSENT : 'one', after === ABSENT ? ABSENT : 'another', [])
        continue
      }
      this.#add(about, name, what, before, after, isWeaker(what, was.get(what), is.get(what)) ? ['weaker'] : [])
    }
  }

  #add(about: About, name: string, what: string, before: string, after: string, marks: readonly Mark[]): void {
    const id = JSON.stringify([about, what, before, after])
    const known = this.#found.get(id)
    if (known === undefined) this.#found.set(id, { about, names: [name], what, before, after, marks })
    else known.names.push(name)
  }
}

function mapOf<T>(entries: Entries<T>): ReadonlyMap<string, T> {
  return entries instanceof Map ? entries : new Map(Object.entries(entries))
}
