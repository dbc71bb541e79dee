import type { Route } from '../../core/plan.js'
import { atOnce, type Steps } from '../../core/steps.js'
import type { Change, RequestChange, Side } from './change.js'

import { type Decision, decide } from './decision.js'
import { entryChanges } from './entries.js'
import { classesOf, type ModelClass, NAMELESS, namesOf } from './model-classes.js'
import { type Outcome, outcomesOf } from './outcome.js'
import { ProductList } from './products.js'
import { isForUpstreams } from './route-words.js'
import { keyNames, listedNames, type Terms, termsOf } from './terms.js'

export { type Change, MARKS, type Mark, type RequestChange, type Side } from './change.js'
export { BOUNDS } from './outcome.js'

/**
 * The difference in meaning: entries that say something else, and each key × model × route that gets something else than
 * before, as few products of the three. Keys with equal terms, and models of equal shapes, are decided once.
 */
export function differenceOf(before: Side, after: Side, now = Date.now()): readonly Change[] {
  return atOnce(comparing(before, after, now))
}

/** The same in steps. */
export function* comparing(before: Side, after: Side, now: number): Steps<readonly Change[]> {
  const entries = yield* entryChanges(before, after)
  const shown = namesOf([before, after])
  const classes = yield* classesOf(shown.keys(), before, after)
  return [...entries, ...(yield* new Comparison(before, after, shown, classes).changes(now))]
}

/** Keys with the same terms on either side, but for their names. */
interface KeyGroup {
  readonly names: string[]
  readonly was: Terms
  readonly is: Terms
}

class Comparison {
  readonly #before: Side
  readonly #after: Side
  readonly #shown: ReadonlyMap<string, string>
  readonly #classes: readonly ModelClass[]
  readonly #byName = new Map<string, ModelClass>()
  readonly #routes: readonly (readonly [Route | undefined, Route | undefined])[]
  readonly #outcomes = new Map<string, readonly Outcome[]>()
  readonly #found = new ProductList()

  constructor(before: Side, after: Side, shown: ReadonlyMap<string, string>, classes: readonly ModelClass[]) {
    this.#before = before
    this.#after = after
    this.#shown = shown
    this.#classes = classes
    for (const one of this.#classes) for (const name of one.names) this.#byName.set(name, one)
    this.#routes = routePairs(before, after)
  }

  *changes(now: number): Steps<readonly RequestChange[]> {
    for (const group of yield* this.#groups(now)) yield* this.#compare(group)
    return yield* this.#found.changes(name => this.#shown.get(name) ?? name)
  }

  *#groups(now: number): Steps<Iterable<KeyGroup>> {
    const groups = new Map<string, KeyGroup>()
    for (const name of keyNames(this.#before, this.#after)) {
      const was = termsOf(name, this.#before, now)
      const is = termsOf(name, this.#after, now)
      const id = JSON.stringify([was.text, was.bounds, was.lists, is.text, is.bounds, is.lists])
      const group = groups.get(id)
      if (group === undefined) groups.set(id, { names: [name], was, is })
      else group.names.push(name)
      yield
    }
    return groups.values()
  }

  *#compare(group: KeyGroup): Steps<void> {
    for (const [one, names] of this.#parts(group)) {
      if (!one.byKey) {
        yield* this.#note(group, group, one, names)
        continue
      }
      for (const key of group.names) {
        const was = termsOf(key, this.#before, Date.now())
        yield* this.#note(
          { ...group, names: [key] },
          { names: [key], was, is: termsOf(key, this.#after, Date.now()) },
          one,
          names,
        )
      }
    }
  }

  *#note(group: KeyGroup, asked: KeyGroup, one: ModelClass, names: readonly string[]): Steps<void> {
    for (const outcome of yield* this.#outcomesOf(asked, one, names[0] ?? '')) {
      this.#found.add(outcome, group.names, names, one.names.length === 1)
    }
    // What is decided already takes time, too.
    yield
  }

  /** The classes whose requests may get something else, with those of their names that the group may use alike. */
  *#parts(group: KeyGroup): Iterable<readonly [ModelClass, readonly string[]]> {
    const { was, is } = group
    const isChanged = was.text !== is.text || was.bounds !== is.bounds
    const isSame = !isChanged && JSON.stringify(was.lists) === JSON.stringify(is.lists)
    yield [NAMELESS, NAMELESS.names]
    const listed = [listedNames(was), listedNames(is)]
    const [one, other] = listed
    if (one !== undefined && other !== undefined) {
      yield* this.#partsOf(group, new Set([...one, ...other]), isSame)
      return
    }
    for (const model of this.#classes) {
      if (!(isSame && model.isSame)) yield* parted(model, model.names, group)
    }
  }

  *#partsOf(
    group: KeyGroup,
    names: Iterable<string>,
    isSame: boolean,
  ): Iterable<readonly [ModelClass, readonly string[]]> {
    const byClass = new Map<ModelClass, string[]>()
    for (const name of names) {
      const one = this.#byName.get(name)
      if (one === undefined || (isSame && one.isSame)) continue
      const known = byClass.get(one)
      if (known === undefined) byClass.set(one, [name])
      else known.push(name)
    }
    for (const [one, theirs] of byClass) yield* parted(one, theirs, group)
  }

  /** One for each difference, with all routes that have it. */
  *#outcomesOf({ names, was, is }: KeyGroup, model: ModelClass, name: string): Steps<readonly Outcome[]> {
    const others = model.others.map(one => `${mayUse(was, one)}${mayUse(is, one)}`)
    const isBound = was.bounds !== is.bounds
    const class_ = this.#classes.indexOf(model)
    const own = [class_, mayUse(was, name), mayUse(is, name), others, model.byKey ? names[0] : '']
    const id = JSON.stringify([was.text, is.text, isBound && [was.bounds, is.bounds], own])
    const known = this.#outcomes.get(id)
    if (known !== undefined) return known
    const made = yield* this.#decideAll(was, is, model === NAMELESS ? '' : name)
    this.#outcomes.set(id, made)
    return made
  }

  *#decideAll(was: Terms, is: Terms, name: string): Steps<readonly Outcome[]> {
    const found = new Map<string, Outcome & { readonly routes: string[] }>()
    for (const [one, other] of this.#routes) {
      const route = one ?? other
      if (route === undefined || (name === '') !== (route.model === undefined)) continue
      if (!mayServe(one, was, name) && !mayServe(other, is, name)) continue
      const before: Decision = decide(this.#before, one, name, was.caller)
      const after: Decision = decide(this.#after, other, name, is.caller)
      for (const outcome of outcomesOf(before, after, { was, is, name })) {
        const id = JSON.stringify(outcome)
        const known = found.get(id)
        if (known === undefined) found.set(id, { ...outcome, routes: [route.id] })
        else known.routes.push(route.id)
      }
      yield
    }
    return [...found.values()]
  }
}

/** Parts of the names: of each the group may use all or none, on either side. */
function* parted(
  one: ModelClass,
  names: readonly string[],
  { was, is }: KeyGroup,
): Iterable<readonly [ModelClass, readonly string[]]> {
  const parts = new Map<string, string[]>()
  for (const name of names) {
    const bits = `${mayUse(was, name)}${mayUse(is, name)}`
    const known = parts.get(bits)
    if (known === undefined) parts.set(bits, [name])
    else known.push(name)
  }
  for (const part of parts.values()) yield [one, part]
}

/** Whether asking `explain` is worth it. */
function mayServe(route: Route | undefined, terms: Terms, name: string): boolean {
  if (terms.caller === undefined || (name !== '' && mayUse(terms, name) === 0)) return false
  return route?.resolve(name) !== undefined
}

function mayUse({ caller }: Terms, model: string): 0 | 1 {
  return caller?.may(model) === true ? 1 : 0
}

/** Routes whose requests are for upstreams, by id, on either side. */
function routePairs(before: Side, after: Side): readonly (readonly [Route | undefined, Route | undefined])[] {
  const pairs = new Map<string, [Route | undefined, Route | undefined]>()
  for (const [at, { plan }] of [before, after].entries()) {
    for (const route of plan.routes) {
      if (!isForUpstreams(route)) continue
      const pair = pairs.get(route.id) ?? [undefined, undefined]
      pair[at] = route
      pairs.set(route.id, pair)
    }
  }
  return [...pairs.values()]
}
