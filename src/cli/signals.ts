import { endSignals } from '../core/platform.js'

/** Settles with the first signal that asks this process to end. Until then these signals do not end it by themselves. */
export function nextSignal(): Promise<NodeJS.Signals> {
  const names = endSignals()
  return new Promise(resolve => {
    const settle = (name: NodeJS.Signals): void => {
      for (const other of names) process.off(other, settle)
      resolve(name)
    }
    for (const name of names) process.on(name, settle)
  })
}
