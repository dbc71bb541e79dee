import { existsSync, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import { nextSignal } from '../signals.js'

/** Changes that come within this time are one, milliseconds. */
const GATHER_MS = 100

/** Runs again after each change of one of the files, until a signal. `run` gives the files that count from then on. */
export async function watchFiles(run: () => Promise<readonly string[]>): Promise<void> {
  const signal = nextSignal().then(() => 'end' as const)
  let files: ReadonlySet<string> = new Set()
  for (;;) {
    const since = Date.now()
    const before = new Map([...files].map(file => [file, savedAt(file)]))
    files = new Set(await run())
    const change = changeOf(files)
    // A file that was saved while the tests ran may have been read before. Its time alone may be that of a clock ahead of this one.
    const isChanged = [...files].some(file => {
      const at = savedAt(file)
      return before.has(file) ? at !== before.get(file) : at > since
    })
    const next = await Promise.race([signal, isChanged ? 'change' : change.happened])
    change.stop()
    if (next === 'end') return
  }
}

function changeOf(files: ReadonlySet<string>): { readonly happened: Promise<'change'>; stop(): void } {
  const watchers: { close(): void }[] = []
  const happened = new Promise<'change'>(resolve => {
    // Editors replace files: a folder tells of that, a file does not.
    for (const folder of new Set([...files].map(dirname).filter(existsSync)))
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

/** Milliseconds since the epoch; 0 without a file. */
function savedAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
