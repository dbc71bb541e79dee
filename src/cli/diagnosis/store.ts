import type { StoreEvents } from '../../core/store-config.js'
import { examineStore } from '../store-check.js'
import { type Check, fault, ok, type Result, reasonOf, skipped, warning } from './result.js'

const LOCAL: ReadonlySet<string> = new Set(['memory', 'file', 'module'])

/** As `gateway store check`. */
export const checkStore: Check = async ({ plan: { store: config }, options }) => {
  if (options.offline === true && !LOCAL.has(config.type))
    return [skipped('store', config.type, 'not asked (--offline)')]
  const { inspectStore, openStore } = await import('../../runtime/stores.js')
  const found: Result[] = []
  const events: StoreEvents = {
    warn: message => void found.push(warning('store', config.type, message, 'Change the settings of the store.')),
    down: () => undefined,
    up: () => undefined,
  }
  try {
    const inspect = () => inspectStore(config, { ...events, warn: () => undefined })
    const { line } = await examineStore({ config, inspect, open: () => openStore(config, events) })
    return [...found, ok('store', config.type, line.replace(/^\w+: /, ''))]
  } catch (error) {
    const advice =
      'Look whether it runs and can be reached, and whether `store` says so; gateway store check tries again.'
    return [...found, fault('store', config.type, reasonOf(error), advice)]
  }
}
