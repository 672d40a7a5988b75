// node schema.mjs AJV SCHEMA FILE says where FILE differs from SCHEMA; AJV is the validator's folder.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [ajv, schema, file] = process.argv.slice(2);
const Ajv = createRequire(import.meta.url)(ajv);
const read = name => JSON.parse(readFileSync(name, "utf8"));
const validate = new Ajv({ strict: false }).compile(read(schema));
if (!validate(read(file))) {
	console.error(validate.errors);
	process.exit(1);
}
