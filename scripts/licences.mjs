// The licences of packages whose code is bundled into what browsers load, as these licences ask.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Texts for the packages that are among a bundler's inputs. Throws where a package has no licence file. */
export function bundledLicences(root, inputs) {
  const names = new Set(inputs.map(path => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean))
  return [...names]
    .sort()
    .map(name => {
      const folder = join(root, 'node_modules', name)
      const file = readdirSync(folder).find(one => /^licen[cs]e/i.test(one))
      if (file === undefined) throw new Error(`${name} is bundled and has no licence file`)
      return `${name} ${JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
    })
    .join(`\n${'-'.repeat(80)}\n\n`)
}
