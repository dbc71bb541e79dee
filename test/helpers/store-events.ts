import type { StoreEvents } from '../../src/core/store-config.js'
import { Journal } from './journal.js'

/** The events of a driver, in order: `down`, `up`, or `warn` and the message. */
export function heard(): { readonly events: StoreEvents; readonly told: Journal<string> } {
  const told = new Journal<string>('events of the store')
  const events: StoreEvents = {
    warn: message => told.push(`warn ${message}`),
    down: () => told.push('down'),
    up: () => told.push('up'),
  }
  return { events, told }
}
