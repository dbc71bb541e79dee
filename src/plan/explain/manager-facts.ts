import { type ManagedConfig, type Manager, managedId } from '../../core/secret-managers.js'
import { duration } from './format.js'

/** Where secrets are fetched from, a line for each manager: `vault https://vault.example (app_role), each 5m: secret/data/north#key`. */
export function managerFacts({ managers, secrets }: ManagedConfig): readonly string[] {
  const { vault, aws, gcp, refresh } = managers
  const places: readonly (readonly [Manager, string | undefined])[] = [
    ['vault', vault && `${vault.address} (${vault.login.by})`],
    ['aws', aws && (aws.endpoint ?? aws.source?.region ?? 'without a key')],
    ['gcp', gcp?.endpoint],
  ]
  return places.flatMap(([manager, place]) => {
    const names = secrets.filter(one => one.manager === manager).map(one => managedId(one).slice(manager.length + 1))
    return place === undefined || names.length === 0
      ? []
      : [`${manager} ${place}, each ${duration(refresh)}: ${names.join(', ')}`]
  })
}
