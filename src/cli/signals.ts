/** Settles with the first of the signals that comes. Until then these signals do not end the process by themselves. */
export function nextSignal(...names: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise(resolve => {
    const settle = (name: NodeJS.Signals): void => {
      for (const other of names) process.off(other, settle)
      resolve(name)
    }
    for (const name of names) process.on(name, settle)
  })
}
