import type { Fields } from '../families/fields.js'

/**
 * The model that a body names. Every name is a model here, so that whichever name a configuration leads to the simulator
 * works; the fault `status=404` plays one that does not exist. Throws where none is named.
 */
export function modelOf(fields: Fields): string {
  const model = fields.need('model', fields.string)
  if (model === '') throw fields.missing('model')
  return model
}
