import type { ModelConfig } from '../core/config.js'
import { Glob, isGlob } from '../core/glob.js'
import { atOnce, type Steps } from '../core/steps.js'

/** A model as declared; its name may be a glob. */
interface Declared {
  readonly name: string
  readonly config: ModelConfig
  /** One object for all models whose exchanges differ in nothing but the upstreams' names for the model. */
  readonly shape: ModelConfig
}

export interface Found {
  readonly model: Declared
  /** What the first `*` of the declared name stands for; `undefined` where the name is not a glob. */
  readonly star: string | undefined
}

/** The declared models by the names that clients use: an exact name first, then globs in the order of the file. */
export class ModelIndex {
  readonly declared: Declared[] = []
  /** Names that are not globs. */
  readonly names: string[] = []
  /** Those, and what globs are listed by, in the order of the file. */
  readonly listed: string[] = []
  /** Globs whose upstreams are asked for names. */
  readonly asking: Declared[] = []
  /** Each once. */
  readonly shapes: ModelConfig[] = []
  readonly #exact = new Map<string, Declared>()
  readonly #globs: { readonly glob: Glob; readonly model: Declared }[] = []

  constructor(models: Readonly<Record<string, ModelConfig>> = {}) {
    atOnce(this.add(models))
  }

  /** To be called once. */
  *add(models: Readonly<Record<string, ModelConfig>>): Steps<void> {
    const shapes = new Map<string, ModelConfig>()
    for (const name of Object.keys(models)) {
      const config = models[name]
      if (config === undefined) continue
      const text = shapeText(config)
      const shape = shapes.get(text) ?? config
      if (shape === config) {
        shapes.set(text, shape)
        this.shapes.push(shape)
      }
      this.#add({ name, config, shape })
      yield
    }
  }

  #add(model: Declared): void {
    this.declared.push(model)
    if (isGlob(model.name)) {
      this.#globs.push({ glob: new Glob(model.name), model })
      const { list = [] } = model.config
      if (list === 'upstream') this.asking.push(model)
      else this.listed.push(...list)
    } else {
      this.names.push(model.name)
      this.listed.push(model.name)
      this.#exact.set(model.name, model)
    }
  }

  /** The one model that a name stands for: where its upstreams are off, no other glob takes over. */
  find(name: string): Found | undefined {
    const exact = this.#exact.get(name)
    if (exact !== undefined) return { model: exact, star: undefined }
    for (const { glob, model } of this.#globs) {
      const star = glob.capture(name)
      if (star !== undefined) return { model, star }
    }
    return undefined
  }
}

/** All of a model that decides how it is served, but for what its upstreams call it. */
function shapeText(config: ModelConfig): string {
  const targets = config.targets.map(target => ({ ...target, as: undefined }))
  return JSON.stringify({ ...config, owner: undefined, created: undefined, list: undefined, targets })
}
