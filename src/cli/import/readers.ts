import { bodyPreferencesReader } from './body-preferences.js'
import { channelsReader } from './channels.js'
import { llmModelsReader } from './llm-models.js'
import { modelListReader } from './model-list.js'
import { providerKeysReader } from './provider-keys.js'
import type { Reader } from './reader.js'
import { resourcesReader } from './resources.js'
import { targetTreeReader } from './target-tree.js'

/** Readers by the word that a file of `routes/imports` has for them: by the shape of the foreign file. */
export const READERS: Readonly<Record<string, Reader>> = {
  model_list: modelListReader,
  target_tree: targetTreeReader,
  provider_keys: providerKeysReader,
  channels: channelsReader,
  resources: resourcesReader,
  llm_models: llmModelsReader,
  body_preferences: bodyPreferencesReader,
}
