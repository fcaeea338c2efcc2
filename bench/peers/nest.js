// NestJS on Express with better-sqlite3: commits each plant durably by itself. node nest.js PORT TOKEN
import "reflect-metadata";
import { Body, Controller, HttpCode, Module, Post, UnauthorizedException } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { createPlants } from "./sqlite-node.js";

const [port, token] = process.argv.slice(2);
const plants = createPlants();

class PlantsController {
  create({ id, name, tag }) {
    plants.insert(id, name, tag);
    return { name, tag };
  }
}
// Decorators by hand, since this file runs as it is.
Body()(PlantsController.prototype, "create", 0);
const method = Object.getOwnPropertyDescriptor(PlantsController.prototype, "create");
Post()(PlantsController.prototype, "create", method);
HttpCode(200)(PlantsController.prototype, "create", method);
Controller("plants")(PlantsController);

class TokenGuard {
  canActivate(context) {
    const { authorization } = context.switchToHttp().getRequest().headers;
    if (authorization !== `Bearer ${token}`) throw new UnauthorizedException();
    return true;
  }
}
class AppModule {}
Module({ controllers: [PlantsController] })(AppModule);

const app = await NestFactory.create(AppModule, { logger: false });
app.useGlobalGuards(new TokenGuard());
await app.listen(Number(port), "127.0.0.1");
