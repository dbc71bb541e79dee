import { shownFile } from '../../config/problems.js'
import type { Config } from '../../core/config.js'
import { Glob } from '../../core/glob.js'
import { type DocumentPath, pathText } from '../../core/path-text.js'
import type { Position } from '../../core/problems.js'
import { watchRules } from '../../core/rule-watch.js'
import type { Ran } from './run-test.js'

/** Most names of a list in a line. */
const MAX_NAMES = 10

type Kind = 'model' | 'target' | 'key' | 'rule'

/** One thing of a configuration that tests may touch. */
export interface Covered {
  readonly kind: Kind
  readonly name: string
  readonly touched: boolean
  /** Of rules: where each is written. */
  readonly position?: Position
}

/** A configuration whose tests run. */
interface Tested {
  readonly declared: Pick<Config, 'models' | 'keys'>
  positionOf(path: DocumentPath): Position
}

/** What of a configuration the tests have touched: models, their targets, keys, rules. Rules are watched until `stop`. */
export class Coverage {
  readonly #tested: Tested
  /** By their paths as text. */
  readonly #rules = new Map<string, { readonly path: DocumentPath; isUsed: boolean }>()
  readonly stop: () => void
  readonly #models = new Set<string>()
  readonly #targets = new Set<string>()
  readonly #keys = new Set<string>()

  constructor(tested: Tested) {
    this.#tested = tested
    this.stop = watchRules({
      placed: path => void this.#rule(path),
      used: path => {
        this.#rule(path).isUsed = true
      },
    })
  }

  #rule(path: DocumentPath): { isUsed: boolean } {
    const name = pathText(path)
    const known = this.#rules.get(name) ?? { path, isUsed: false }
    this.#rules.set(name, known)
    return known
  }

  add({ models, targets, keys }: Ran): void {
    for (const model of models) this.#models.add(this.#declared(model))
    for (const [model, upstream] of targets) this.#targets.add(targetName(this.#declared(model), upstream))
    for (const key of keys) this.#keys.add(key)
  }

  /** The name in the file, which may be a glob. */
  #declared(model: string): string {
    const names = Object.keys(this.#tested.declared.models)
    return names.includes(model) ? model : (names.find(name => new Glob(name).matches(model)) ?? model)
  }

  get all(): readonly Covered[] {
    const { models, keys } = this.#tested.declared
    const targets = Object.entries(models).flatMap(([name, model]) =>
      model.targets.map(({ upstream }) => targetName(name, upstream)),
    )
    const rules = [...this.#rules].map(
      ([name, { path, isUsed }]): Covered => ({
        ...{ kind: 'rule', name, touched: isUsed },
        position: this.#tested.positionOf(path),
      }),
    )
    return [
      ...covered('model', Object.keys(models), this.#models),
      ...covered('target', [...new Set(targets)], this.#targets),
      ...covered('key', Object.keys(keys), this.#keys),
      ...rules.toSorted(byPlace),
    ]
  }
}

function covered(kind: Kind, names: readonly string[], touched: ReadonlySet<string>): readonly Covered[] {
  return names.map(name => ({ kind, name, touched: touched.has(name) }))
}

function byPlace({ position: one }: Covered, { position: other }: Covered): number {
  if (one === undefined || other === undefined) return 0
  return one.file.localeCompare(other.file) || one.line - other.line || one.column - other.column
}

function targetName(model: string, upstream: string): string {
  return `${model} at ${upstream}`
}

const SAID: Readonly<Record<Kind, string>> = {
  model: 'models are asked for by name',
  target: 'targets are called',
  key: 'keys call',
  rule: 'rules take effect',
}

/** A line for each kind of thing, with what no test has touched. */
export function coverageLines(all: readonly Covered[]): readonly string[] {
  return (Object.keys(SAID) as Kind[]).flatMap(kind => {
    const own = all.filter(one => one.kind === kind)
    const rest = own.filter(({ touched }) => !touched)
    const more = rest.length > MAX_NAMES ? ` and ${rest.length - MAX_NAMES} more` : ''
    const sum = `${own.length - rest.length} of ${own.length} ${SAID[kind]}`
    if (kind === 'rule' && own.length === 0) return []
    return rest.length === 0 ? sum : `${sum}; not ${rest.slice(0, MAX_NAMES).map(shown).join(', ')}${more}`
  })
}

function shown({ name, position }: Covered): string {
  return position === undefined ? name : `${name} (${shownFile(position.file)}:${position.line}:${position.column})`
}
