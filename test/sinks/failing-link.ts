import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** From now on no file of this process can get a second name, as in folders and on file systems that refuse it. Returns what ends that. */
export function failLinks(code: string): () => void {
  const usual = fs.promises.link
  const set = (link: typeof usual): void => {
    fs.promises.link = link
    syncBuiltinESMExports()
  }
  set(async () => {
    throw Object.assign(new Error(`${code}: link`), { code })
  })
  return () => set(usual)
}
