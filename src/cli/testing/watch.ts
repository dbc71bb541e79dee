import { statSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import { nextSignal } from '../signals.js'

/** Changes that come within this time are one, milliseconds. */
const GATHER_MS = 100

/** Runs again after each change of one of the files, until a signal. `run` gives the files that count from then on. */
export async function watchFiles(run: () => Promise<readonly string[]>): Promise<void> {
  const signal = nextSignal().then(() => 'end' as const)
  for (;;) {
    const since = Date.now()
    const files = new Set(await run())
    const change = changeOf(files)
    // A file that was saved while the tests ran may have been read before.
    if ([...files].some(file => isNewer(file, since))) {
      change.stop()
      continue
    }
    const next = await Promise.race([signal, change.happened])
    change.stop()
    if (next === 'end') return
  }
}

function changeOf(files: ReadonlySet<string>): { readonly happened: Promise<'change'>; stop(): void } {
  const watchers: { close(): void }[] = []
  const happened = new Promise<'change'>(resolve => {
    // Editors replace files: a folder tells of that, a file does not.
    for (const folder of new Set([...files].map(dirname)))
      watchers.push(
        watch(folder, (_, name) => {
          if ([...files].some(file => dirname(file) === folder && file.endsWith(String(name))))
            setTimeout(() => resolve('change'), GATHER_MS)
        }),
      )
  })
  return {
    happened,
    stop: () => {
      for (const watcher of watchers) watcher.close()
    },
  }
}

function isNewer(file: string, since: number): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > since
}
