import type { Fields } from '../families/fields.js'
import { unknownModel } from '../families/refusals.js'

/** Every name that begins so is a model of the simulator. */
const PREFIX = 'sim-'

export function isSimulated(name: string): boolean {
  return name.startsWith(PREFIX)
}

/** The model that a body names. Throws where none is named, or one that nobody knows. */
export function modelOf(fields: Fields, unknown = unknownModel): string {
  const model = fields.need('model', fields.string)
  if (!isSimulated(model)) throw unknown(model)
  return model
}
