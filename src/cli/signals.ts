import { endSignals } from '../core/platform.js'

/** What a shell adds to the number of a signal, for the status of a process that it ended. */
export const SIGNAL_STATUS = 128

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

/** The first and the second one that ask this process to end. */
export type Signals = readonly [Promise<NodeJS.Signals>, Promise<NodeJS.Signals>]

/**
 * The first and the second such signal. From now on these signals do not end this process by themselves: a listener that was
 * taken off between the two would lose one that comes in the same moment.
 */
export function nextTwoSignals(): Signals {
  const waiting: ((name: NodeJS.Signals) => void)[] = []
  const next = (): Promise<NodeJS.Signals> => new Promise(resolve => waiting.push(resolve))
  for (const name of endSignals()) process.on(name, () => waiting.shift()?.(name))
  return [next(), next()]
}
