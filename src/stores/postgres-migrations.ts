import { ACCOUNT_MIGRATION } from './postgres-account-migration.js'

/**
 * What brings the tables from each version of the schema to the next one; the first makes them. One that was released is
 * never changed. Names are not qualified: the connection's search path is the store's schema.
 */
export const MIGRATIONS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE records (
      namespace text COLLATE "C" NOT NULL,
      owner text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      created double precision NOT NULL,
      expires double precision NOT NULL,
      due double precision,
      version bigint NOT NULL,
      fence bigint NOT NULL,
      value bytea NOT NULL,
      PRIMARY KEY (namespace, owner, key)
    )`,
    'CREATE INDEX records_order ON records (namespace, owner, created, key)',
    'CREATE INDEX records_due ON records (namespace, due) WHERE due IS NOT NULL',
    'CREATE INDEX records_expiry ON records (expires)',

    `CREATE TABLE counters (
      namespace text COLLATE "C" NOT NULL,
      owner text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      spent bigint NOT NULL,
      reserved bigint NOT NULL,
      expires double precision NOT NULL,
      PRIMARY KEY (namespace, owner, key)
    )`,
    'CREATE INDEX counters_expiry ON counters (expires)',
    `CREATE TABLE counter_items (
      namespace text COLLATE "C" NOT NULL,
      owner text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL,
      amount bigint NOT NULL,
      settled boolean NOT NULL,
      until double precision NOT NULL,
      PRIMARY KEY (namespace, owner, key, id),
      FOREIGN KEY (namespace, owner, key) REFERENCES counters ON DELETE CASCADE
    )`,
    'CREATE INDEX counter_items_until ON counter_items (namespace, owner, key, until)',
    // Creates and locks the counter, resets it after its window, and drops reservations that were not settled.
    `CREATE FUNCTION counter_open(ns text, who text, k text, at double precision, until_ double precision)
    RETURNS counters LANGUAGE plpgsql AS $$
    DECLARE
      found counters;
      fallen bigint;
    BEGIN
      INSERT INTO counters VALUES (ns, who, k, 0, 0, until_) ON CONFLICT DO NOTHING;
      SELECT * INTO found FROM counters c WHERE c.namespace = ns AND c.owner = who AND c.key = k FOR UPDATE;
      IF found.expires <= at THEN
        DELETE FROM counter_items i WHERE i.namespace = ns AND i.owner = who AND i.key = k;
        found.spent := 0;
        found.reserved := 0;
        found.expires := until_;
      ELSE
        WITH gone AS (
          DELETE FROM counter_items i WHERE i.namespace = ns AND i.owner = who AND i.key = k AND i.until <= at
          RETURNING i.amount
        )
        SELECT coalesce(sum(amount), 0) INTO fallen FROM gone;
        found.reserved := found.reserved - fallen;
        found.expires := greatest(found.expires, until_);
      END IF;
      RETURN found;
    END $$`,
    `CREATE FUNCTION counter_keep(c counters) RETURNS void LANGUAGE sql AS $$
      UPDATE counters SET spent = c.spent, reserved = c.reserved, expires = c.expires
      WHERE namespace = c.namespace AND owner = c.owner AND key = c.key
    $$`,
    `CREATE FUNCTION counter_reserve(
      ns text, who text, k text, at double precision, until_ double precision,
      what text, much bigint, ceiling_ bigint, held_until double precision
    ) RETURNS TABLE (spent_ bigint, reserved_ bigint) LANGUAGE plpgsql AS $$
    DECLARE
      c counters := counter_open(ns, who, k, at, until_);
      known counter_items;
    BEGIN
      SELECT * INTO known FROM counter_items i
      WHERE i.namespace = ns AND i.owner = who AND i.key = k AND i.id = what;
      IF known.id IS NULL OR known.settled THEN
        IF c.spent + c.reserved + much > ceiling_ THEN
          PERFORM counter_keep(c);
          RETURN;
        END IF;
        c.reserved := c.reserved + much;
        INSERT INTO counter_items VALUES (ns, who, k, what, much, false, held_until)
        ON CONFLICT (namespace, owner, key, id)
        DO UPDATE SET amount = excluded.amount, settled = false, until = excluded.until;
      END IF;
      PERFORM counter_keep(c);
      RETURN QUERY SELECT c.spent, c.reserved;
    END $$`,
    `CREATE FUNCTION counter_settle(
      ns text, who text, k text, at double precision, until_ double precision,
      what text, much bigint, known_until double precision
    ) RETURNS TABLE (spent_ bigint, reserved_ bigint) LANGUAGE plpgsql AS $$
    DECLARE
      c counters := counter_open(ns, who, k, at, until_);
      known counter_items;
    BEGIN
      SELECT * INTO known FROM counter_items i
      WHERE i.namespace = ns AND i.owner = who AND i.key = k AND i.id = what;
      IF known.settled THEN
        PERFORM counter_keep(c);
        RETURN;
      END IF;
      c.reserved := c.reserved - coalesce(known.amount, 0);
      c.spent := c.spent + much;
      INSERT INTO counter_items VALUES (ns, who, k, what, 0, true, known_until)
      ON CONFLICT (namespace, owner, key, id) DO UPDATE SET amount = 0, settled = true, until = excluded.until;
      PERFORM counter_keep(c);
      RETURN QUERY SELECT c.spent, c.reserved;
    END $$`,

    'CREATE TABLE ledgers (namespace text COLLATE "C" PRIMARY KEY, last bigint NOT NULL)',
    `CREATE TABLE ledger_entries (
      namespace text COLLATE "C" NOT NULL,
      sequence bigint NOT NULL,
      owner text COLLATE "C" NOT NULL,
      value bytea NOT NULL,
      PRIMARY KEY (namespace, sequence)
    )`,

    `CREATE TABLE blobs (
      id text COLLATE "C" PRIMARY KEY,
      namespace text COLLATE "C" NOT NULL,
      owner text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      size bigint NOT NULL,
      expires double precision NOT NULL,
      named boolean NOT NULL
    )`,
    'CREATE UNIQUE INDEX blobs_place ON blobs (namespace, owner, key) WHERE named',
    'CREATE INDEX blobs_expiry ON blobs (expires)',
    `CREATE TABLE blob_pieces (
      id text COLLATE "C" NOT NULL REFERENCES blobs ON DELETE CASCADE,
      number integer NOT NULL,
      bytes bytea NOT NULL,
      PRIMARY KEY (id, number)
    )`,
    'ALTER TABLE blob_pieces ALTER bytes SET STORAGE EXTERNAL',
    // A blob takes the place of the former one at once; of two at the same time the later one stays.
    `CREATE FUNCTION blob_name(what text, much bigint, until_ double precision)
    RETURNS boolean LANGUAGE plpgsql AS $$
    DECLARE
      b blobs;
    BEGIN
      SELECT * INTO b FROM blobs WHERE id = what FOR UPDATE;
      IF NOT FOUND THEN
        RETURN false;
      END IF;
      LOOP
        DELETE FROM blobs o WHERE o.namespace = b.namespace AND o.owner = b.owner AND o.key = b.key AND o.named;
        BEGIN
          UPDATE blobs SET named = true, size = much, expires = until_ WHERE id = what;
          RETURN true;
        EXCEPTION WHEN unique_violation THEN
          NULL;
        END;
      END LOOP;
    END $$`,
  ],
  ACCOUNT_MIGRATION,
]
